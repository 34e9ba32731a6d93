// Measures the page in each frame, once its fonts are there, and writes the result for --dump-dom.
"use strict";

// A word has a letter or a digit: a dot between two of them is none, nor is an arrow.
function words(text) {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

function measure(frame, message) {
  const body = message.querySelector(":scope > .body");
  const top = message.getBoundingClientRect().top;
  const bottom = (element) => element.getBoundingClientRect().bottom - top;
  const shown = [...body.children].filter((part) => !part.matches(".author, .thread, .broadcast, .message"));
  const layout = {
    TS: message.dataset.ts, Top: top + frame.contentWindow.scrollY, Height: message.getBoundingClientRect().height,
    Buttons: [...body.querySelectorAll(".button")].filter((b) => b.checkVisibility()).map(bottom),
    Wide: shown.filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.innerText.slice(0, 80)),
  };
  const labels = body.querySelectorAll("svg, .legend");
  for (const label of labels) label.style.display = "none";
  const count = (parts) => parts.reduce((n, part) => n + words(part.innerText), 0);
  layout.Words = count(shown);
  const asks = shown.findIndex((part) => part.querySelector(".button")?.checkVisibility());
  layout.Above = asks < 0 ? layout.Words : count(shown.slice(0, asks));
  for (const label of labels) label.style.display = "";
  layout.Blocks = shown.map((part) => ({ Kind: part.classList[0] ?? part.tagName, Text: part.innerText, Bottom: bottom(part) }));
  return layout;
}

// area is the rectangle around all that a frame was asked for, in CSS pixels of its page.
function area(frame) {
  const parts = [...frame.contentDocument.querySelectorAll(frame.dataset.part)].map((part) => part.getBoundingClientRect());
  const top = Math.min(...parts.map((r) => r.top)), left = Math.min(...parts.map((r) => r.left));
  return {
    Top: top + frame.contentWindow.scrollY, Left: left,
    Width: Math.max(...parts.map((r) => r.right)) - left, Height: Math.max(...parts.map((r) => r.bottom)) - top,
    Wide: frame.contentDocument.documentElement.scrollWidth,
  };
}

addEventListener("load", async () => {
  const all = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    await page.fonts.ready;
    all.push({ Messages: [...page.querySelectorAll(".day > .message")].map((m) => measure(frame, m)), Area: area(frame) });
  }
  document.getElementById("result").textContent = JSON.stringify(all);
});
