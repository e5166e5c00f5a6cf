// The page of a method: its address contains the data set and the score of the strips.

function startMethod() {
  const question = byId("question");
  if (!question) return;
  question.hidden = false;
  for (const select of question.querySelectorAll("select"))
    select.addEventListener("change", () => writeState({ [select.dataset.name]: select.value }));
  for (const name of ["statechange", "hashchange", "popstate"]) window.addEventListener(name, chooseStrips);
  chooseStrips();
}

function chooseStrips() {
  const state = readState();
  const chosen = (name) => {
    const select = document.querySelector(`#question [data-name=${name}]`);
    const values = [...select.options].map((option) => option.value);
    return (select.value = values.includes(state[name]) ? state[name] : "");
  };
  const [set, by] = [chosen("set"), chosen("by")];
  const shows = (own, asked) => !asked || own === asked;
  for (const strip of document.querySelectorAll(".strip")) strip.hidden = !shows(strip.dataset.set, set);
  for (const part of document.querySelectorAll(".chapter > section"))
    part.hidden = !shows(part.dataset.by, by) || !part.querySelector(".strip:not([hidden])");
  for (const chapter of document.querySelectorAll(".chapter"))
    chapter.hidden = !chapter.querySelector(":scope > section:not([hidden])");
  if (set || by) for (const chapter of document.querySelectorAll(".chapter")) chapter.open = true;
}
