"""MD5 sums of the official files and of parts of them.

Source of the sums of whole files: the library torch-uncertainty; if a file can be computed here,
its sum is equal. The sums of parts come from those computed files.
"""

from collections.abc import Mapping

CIFAR10_C: Mapping[str, str] = {
    "labels": "c439b113295ed5254878798ffe28fd54",
    "gaussian_noise": "ecaf8b9a2399ffeda7680934c33405fd",
    "shot_noise": "3a7239bb118894f013d9bf1984be7f11",
    "impulse_noise": "2090e01c83519ec51427e65116af6b1a",
    "defocus_blur": "7d1322666342a0702b1957e92f6254bc",
    "glass_blur": "7361fb4019269e02dbf6925f083e8629",
    "motion_blur": "fffa5f852ff7ad299cfe8a7643f090f4",
    "zoom_blur": "6ea8e63f1c5cdee1517533840641641b",
    "snow": "bb238de8555123da9c282dea23bd6e55",
    "frost": "31f6ab3bce1d9934abfb0cc13656f141",
    "fog": "7b397314b5670f825465fbcd1f6e9ccd",
    "brightness": "0a81ef75e0b523c3383219c330a85d48",
    "contrast": "3c8262171c51307f916c30a3308235a8",
    "elastic_transform": "9421657c6cd452429cf6ce96cc412b5f",
    "pixelate": "0f14f7e2db14288304e1de10df16832f",
    "jpeg_compression": "2b9cc4c864e0193bb64db8d7728f8187",
    "speckle_noise": "ef00b87611792b00df09c0b0237a1e30",
    "gaussian_blur": "c33370155bc9b055fb4a89113d3c559d",
    "spatter": "8a5a3903a7f8f65b59501a6093b4311e",
    "saturate": "1cfae0964219c5102abbb883e538cc56",
}
"""Name → MD5 of the file; its rows (s - 1) 10,000 to s 10,000 have severity s."""

CIFAR100_C: Mapping[str, str] = {
    "labels": "bb4026e9ce52996b95f439544568cdb2",
    "gaussian_noise": "ecc4d366eac432bdf25c024086f5e97d",
    "shot_noise": "b0a1fa6e1e465a747c1b204b1914048a",
    "impulse_noise": "3b3c210ddfa0b5cb918ff4537a429fef",
    "defocus_blur": "d923e3d9c585a27f0956e2f2ad832564",
    "glass_blur": "0bf384f38e5ccbf8dd479d9059b913e1",
    "motion_blur": "732a7e2e54152ff97c742d4c388c5516",
    "zoom_blur": "0204613400c034a81c4830d5df81cb82",
    "snow": "0237be164583af146b7b144e73b43465",
    "frost": "3a39c6823bdfaa0bf8b12fe7004b8117",
    "fog": "4efc7ebd5e82b028bdbe13048e3ea564",
    "brightness": "f22d7195aecd6abb541e27fca230c171",
    "contrast": "322bb385f1d05154ee197ca16535f71e",
    "elastic_transform": "a0792bd6581f6810878be71acedfc65a",
    "pixelate": "96c00c60f144539e14cffb02ddbd0640",
    "jpeg_compression": "c851b7f1324e1d2ffddeb76920576d11",
    "speckle_noise": "e3f215b1a0f9fd9fd6f0d1cf94a7ce99",
    "gaussian_blur": "5204ba0d557839772ef5a4196a052c3e",
    "spatter": "12ccf41d62564d36e1f6a6ada5022728",
    "saturate": "c0697e9fdd646916a61e9c312c77bf6b",
}

CIFAR10_C_BLOCKS: Mapping[str, tuple[str, ...]] = {
    "brightness": (
        "310181f7bfa280f3fc9b440d7f8b6274",
        "55d5a42ff7f62ba0d28ce94c83a751e0",
        "502018ff035ebf04b6cf8850ff552a02",
        "d36e89c3c8a589702ece15fba5a710bc",
        "b4510f64a2b16b3b5c98cb8e1cfac455",
    ),
    "contrast": (
        "1db6dacf7f7a29fe4e57b54f4e69a7af",
        "ef5364a12ea4f7d5d0465da2d0b0c3e6",
        "548b862b781be5dafdf277c5ba9db1cd",
        "f1ca3f9062098a1262689d7022feb425",
        "ee7921531b31d61bfc3d906c7609e88f",
    ),
    "defocus_blur": (
        "871cf367ffe00f1d44338f268edad11d",
        "de3d284dcaf96446d615a201791fc6d5",
        "8aaa96df88f7a5a8f0703e516b877ea2",
        "91f68a334d9d3054ea6207bec5c02312",
        "18782ea825065a855ff1d995e0e91e95",
    ),
    "gaussian_blur": (
        "3bbfcf336f35414c7c195368ddae37bf",
        "4b598c99288f2f0072956cd074b84e49",
        "dab5e86ea8abf5e342faed674980c6ac",
        "d298835f1c12da81745e3e406490a0ab",
        "f420768443af98ce9e3841f4eed07138",
    ),
    "pixelate": (
        "13ba88c927edc33082eaef200e4a9e68",
        "11b268072e57f37f6a5038a615024e46",
        "2b6ecaf6740e7ca356b17a4b1245b7e3",
        "8767a7fb4278f56f0da563373273a7b4",
        "042fb0711e06d1e7b393135d1eb393f7",
    ),
    "saturate": (
        "8f59bef72cf311771e271d703afac24f",
        "8c0d399879924133f5702a302bdfc3ed",
        "09558ddcf1f01c7c73850df18d906db9",
        "a5d576f5d11618870c6d037a5a575d2a",
        "fa0807634edd880552b3dd4033f82394",
    ),
    "zoom_blur": (
        "42429ad47e3c497261acb9aea9b0f41a",
        "c8eadfb6464c25d26c0aa8359510eb33",
        "c7b5af4b6a5bf28eaf1096b9211d04d8",
        "7e9d94e187a3dbad9a321d9f8e72f6be",
        "20e7fa38f979a83bc466ecdb91e8df36",
    ),
}
"""Name → MD5 of the pixels of each severity, for files that can be computed byte by byte."""

CIFAR100_C_BLOCKS: Mapping[str, tuple[str, ...]] = {
    "brightness": (
        "078045faf7d2c543f35e16c41988f679",
        "8ac066488ef6d49fff3b1a06b50c5b23",
        "20a1c460239162e4db4b05d7e050e738",
        "55f50295d983dea03c7e068eab8f55ae",
        "c7ec1b138181d8468cdfcef850b4fec6",
    ),
    "contrast": (
        "61580baa8c3caca49dbde7f9a997f46c",
        "a8e9f8ac107ff742574e2eab0052cea7",
        "f5586633d97d701ddf5df3af4cde42f5",
        "59095e7de07b325b7f604fdf7b02f37e",
        "2f3d1550e98fc3ed558e86728285669e",
    ),
    "defocus_blur": (
        "5b64091df86ff2a64f9cba1aadcfb63c",
        "347e7b265ca6aa8351798c406c745368",
        "47d991343a52a579ef976dba06836c7b",
        "8ca787d963de8f0945fd70c41bd9c1b8",
        "16e3457520061b7f1eb50941245f2b35",
    ),
    "gaussian_blur": (
        "030bb858a5d80c07059c5fc712ff13fa",
        "647914685b82ff70c34d54bdfe0286db",
        "8f1328b4c2acbfe06cc59e7b1bf3eabf",
        "a56929e4b01a1476aba210fe99a01af6",
        "020e24a997b20bba68afe836e0bce7d8",
    ),
    "pixelate": (
        "039eb7dc60320a558600f9c87e8cf1c5",
        "a6ae8cfabb9d11174f10cea10767b53d",
        "4ced8c2fb62a9cfe3ade86c6c645b75e",
        "4007de7597c1d796fc3adcbe360d17f2",
        "741556ef6d57d2efba4ea412930b7c0e",
    ),
    "saturate": (
        "dc2bd39dd90ae40cc26e68c4e4153191",
        "2855da46e7f9cd64525f3c5d269d26a8",
        "dcd98bc90bb03f477d6d9829ad33fc51",
        "532c4f85f5d6814c621bd34596f9294d",
        "9aeb8b6af18eb3189cc9ad15cbd91328",
    ),
    "zoom_blur": (
        "56c6111474177f742bd95bf08fd1083e",
        "c741e1488c1fd365d0e1c06052a32d21",
        "b1de4e799dd00d766e809fdd4d48f01c",
        "054debf562c3928fed1734da0baaf431",
        "259f59fe69f591931bd4f2f02c199509",
    ),
}
