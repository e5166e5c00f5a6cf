// Full-text search in the sections that search_index.js lists; it also works from the disk, without a server.
"use strict";

const MOST = 30, BEFORE = 60, LENGTH = 200;
const plain = text => text.toLowerCase();
const countOf = (word, text) => plain(text).split(word).length - 1;

/** Return how well a section matches: 0 unless it has every word; words in titles count most. */
function score(section, words) {
  const each = words.map(word => 20 * countOf(word, section.title) + Math.min(countOf(word, section.text), 10));
  return each.every(value => value) ? each.reduce((a, b) => a + b) : 0;
}

/** Return the part of a text around the first word. */
function excerpt(text, words) {
  const start = Math.max(0, plain(text).indexOf(words[0]) - BEFORE);
  return (start ? "… " : "") + text.slice(start, start + LENGTH) + (start + LENGTH < text.length ? " …" : "");
}

function shown(section, words) {
  const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
  link.href = section.location;
  link.textContent = section.page === section.title ? section.title : `${section.page}: ${section.title}`;
  text.textContent = excerpt(section.text, words);
  item.append(link, text);
  return item;
}

const asked = new URLSearchParams(location.search).get("q") ?? "";
const words = plain(asked).split(/\s+/).filter(Boolean);
document.querySelector("[name=q]").value = asked;
const found = words.length ? SECTIONS.map(one => [score(one, words), one]).filter(([value]) => value) : [];
found.sort(([a], [b]) => b - a);
document.getElementById("found").append(...found.slice(0, MOST).map(([, one]) => shown(one, words)));
const more = found.length > MOST ? `; the best ${MOST} are shown` : "";
document.getElementById("count").textContent = words.length
  ? `${found.length} section${found.length === 1 ? "" : "s"} with all of these words${more}`
  : "Type words above; a section must have all of them.";
