// The page's behaviour: it reloads the feed after each change, and sends clicks
// and forms as the person chosen at the top. Texts from messages are only ever
// rendered by the server, which escapes them.
"use strict";

const feed = document.getElementById("feed");
const user = document.getElementById("user");
const live = document.getElementById("live");
const toast = document.getElementById("toast");
let toastTimer;

function say(text) {
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, 8000);
}

function query() {
  return new URLSearchParams({ channel: user.dataset.channel, user: user.value });
}

let loading = false;
let again = false;

// reload fetches the feed; changes that come meanwhile cause one more round.
async function reload() {
  if (loading) { again = true; return; }
  loading = true;
  try {
    const answer = await fetch("/_page/feed?" + query());
    if (answer.ok) show(await answer.text());
  } catch (err) {
    live.classList.add("off");
  } finally {
    loading = false;
    if (again) { again = false; reload(); }
  }
}

// foldName finds a container again in the next version of its message.
function foldName(box) {
  return box.closest(".message").dataset.ts + " " + box.querySelector(".title")?.textContent;
}

// show replaces the feed. An open form with the same hash stays, with what was typed.
function show(html) {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  for (const old of feed.querySelectorAll(".veil")) {
    const same = fresh.content.querySelector(`.veil[data-view="${old.dataset.view}"][data-hash="${old.dataset.hash}"]`);
    if (same && !same.querySelector(".input-error")) same.replaceWith(old);
  }
  const unfolded = [...feed.querySelectorAll(".message .container[open]")].map(foldName);
  for (const box of fresh.content.querySelectorAll(".message .container")) {
    if (unfolded.includes(foldName(box))) box.open = true;
  }
  const openProblems = feed.querySelector(".problems[open]") !== null;
  const focused = document.activeElement && feed.contains(document.activeElement) ? document.activeElement : null;
  const nearEnd = window.innerHeight + window.scrollY > document.body.scrollHeight - 160;
  const before = feed.querySelectorAll(".day > .message").length;
  feed.replaceChildren(fresh.content);
  const problems = feed.querySelector(".problems");
  if (problems && openProblems) problems.open = true;
  if (focused && feed.contains(focused)) focused.focus();
  const after = feed.querySelectorAll(".day > .message").length;
  if (nearEnd && before > 0 && after > before) window.scrollTo({ top: document.body.scrollHeight });
}

async function send(path, body) {
  const answer = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const result = await answer.json();
  if (!result.ok) say(result.error);
  return result;
}

async function click(element, option) {
  const message = element.closest(".message");
  element.disabled = true;
  try {
    await send("/_fake/click", {
      user: user.value, channel: message.dataset.channel, message_ts: message.dataset.ts,
      block_id: element.dataset.block, action_id: element.dataset.element, option: option,
    });
  } catch (err) {
    say("The click could not be sent: " + err.message);
  } finally {
    element.disabled = false;
  }
}

feed.addEventListener("click", (event) => {
  const close = event.target.closest("[data-close]");
  if (close) {
    send("/_fake/close", { user: user.value, view_id: close.closest(".veil").dataset.view });
    return;
  }
  const button = event.target.closest("button[data-element]");
  if (!button) return;
  if (button.dataset.confirm && !window.confirm(button.dataset.confirm)) return;
  if (button.dataset.url && /^https?:/.test(button.dataset.url)) window.open(button.dataset.url, "_blank", "noopener");
  click(button, "");
});

feed.addEventListener("change", (event) => {
  const select = event.target.closest("select[data-element]");
  if (select && !select.closest(".veil") && select.value !== "") click(select, select.value);
});

feed.addEventListener("submit", async (event) => {
  event.preventDefault();
  const veil = event.target.closest(".veil");
  const values = {};
  for (const field of veil.querySelectorAll(".input [data-element]")) {
    const ticked = [...field.querySelectorAll("input:checked")].map((box) => box.value).join("\n");
    (values[field.dataset.block] ??= {})[field.dataset.element] = field.matches(".checkboxes") ? ticked : field.value;
  }
  await send("/_fake/submit", { user: user.value, view_id: veil.dataset.view, values: values });
});

user.addEventListener("change", () => {
  history.replaceState(null, "", "/?" + query());
  for (const link of document.querySelectorAll(".channels a")) {
    const target = new URL(link.href);
    target.searchParams.set("user", user.value);
    link.href = target.pathname + target.search;
  }
  reload();
});

const events = new EventSource("/_page/events");
let shown = feed.dataset.version;
events.onmessage = (event) => {
  live.classList.remove("off");
  live.textContent = "live";
  if (event.data !== shown) { shown = event.data; reload(); }
};
events.onerror = () => { live.classList.add("off"); live.textContent = "reconnecting"; };
