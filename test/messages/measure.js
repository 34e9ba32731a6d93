// Measures each message of the page in the frame, once its fonts are there, and writes the result for --dump-dom.
"use strict";

const frame = document.querySelector("iframe");

function words(text) {
  return text.split(/\s+/).filter(Boolean).length;
}

function measure(message) {
  const body = message.querySelector(":scope > .body");
  const top = message.getBoundingClientRect().top;
  const bottom = (element) => element.getBoundingClientRect().bottom - top;
  const shown = [...body.children].filter((part) => !part.matches(".author, .thread, .broadcast, .message"));
  const layout = {
    TS: message.dataset.ts, Top: top + frame.contentWindow.scrollY, Height: message.getBoundingClientRect().height,
    Buttons: [...body.querySelectorAll(".button")].filter((b) => b.checkVisibility()).map(bottom),
    Wide: shown.filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.innerText.slice(0, 80)),
  };
  for (const picture of body.querySelectorAll("svg")) picture.style.display = "none";
  layout.Words = shown.reduce((n, part) => n + words(part.innerText), 0);
  for (const picture of body.querySelectorAll("svg")) picture.style.display = "";
  layout.Blocks = shown.map((part) => ({ Kind: part.classList[0] ?? part.tagName, Text: part.innerText, Bottom: bottom(part) }));
  return layout;
}

frame.addEventListener("load", async () => {
  const page = frame.contentDocument;
  await page.fonts.ready;
  const all = [...page.querySelectorAll(".day > .message")].map(measure);
  document.getElementById("result").textContent = JSON.stringify(all);
});
