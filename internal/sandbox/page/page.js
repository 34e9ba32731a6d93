// The sandbox around the Slack channel: it asks for the state each second, and draws it. All texts are set as text.
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const wide = 360, high = 80, span = 180, foot = 24, head = 12; // foot has room for two rows of notes
  const svg = (name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const seconds = (v) => (v < 0 ? "no answers" : v < 1 ? `${Math.round(v * 1000)} ms` : `${v.toFixed(1)} s`);
  const charts = [
    { title: "TTFT p95", traces: [["a", (s) => s.ttft]], text: (s) => seconds(s.ttft), limit: (state) => state.target, least: 4,
      bad: (s, state) => s.ttft > state.target },
    { title: "Requests", keys: ["running", "waiting"], cap: (s) => s.limit,
      traces: [["c cap", (s) => s.limit], ["a", (s) => s.running], ["b", (s) => s.waiting]],
      text: (s) => `${s.running} / ${s.waiting}`, least: 200 },
    { title: "Replicas", traces: [["c", (s) => s.replicas]], text: (s) => s.loading > 0 ? `${s.replicas} + ${s.loading} loading` : `${s.replicas}`,
      least: 5 },
    { title: "Per second", keys: ["arriving", "failing"], traces: [["a", (s) => s.demand], ["b", (s) => s.failed]],
      text: (s) => `${s.demand.toFixed(1)} / ${s.failed.toFixed(1)}`, least: 10 },
  ];

  // nice rounds up to 1, 2 or 5 times a power of ten.
  function nice(v) {
    const power = 10 ** Math.floor(Math.log10(v));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= v * 0.999);
  }

  for (const chart of charts) {
    chart.figure = document.createElement("figure");
    chart.figure.className = "gauge";
    at("charts").append(chart.figure);
  }

  function draw(chart, state) {
    const samples = state.samples;
    const last = samples.at(-1);
    if (!last) return;
    const end = last.at, top = nice(Math.max(chart.least, ...samples.flatMap((s) => chart.traces.map(([, of]) => of(s)))));
    const x = (t) => wide - (end - t) * wide / span, y = (v) => high - foot - v * (high - foot - head) / top;
    const picture = svg("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${chart.title}: ${chart.text(last)}` });
    for (const v of [0, top]) {
      picture.append(svg("line", { class: "grid", x1: 0, x2: wide, y1: y(v), y2: y(v) }));
      picture.append(svg("text", { class: "note", x: 0, y: y(v) - 2 }, v));
    }
    const taken = [[], []]; // by row: from where to where notes are; the newest come first, and what finds no room has none
    for (const mark of state.marks.filter((m) => m.at > end - span).reverse()) {
      picture.append(svg("line", { class: "mark", x1: x(mark.at), x2: x(mark.at), y1: head, y2: y(0) }));
      const long = 5 * mark.text.length, right = x(mark.at) + long > wide;
      const from = x(mark.at) + (right ? -3 - long : 3);
      const row = taken.findIndex((notes) => notes.every(([a, b]) => from > b || from + long < a));
      if (row < 0) continue;
      taken[row].push([from, from + long + 4]);
      picture.append(svg("text", { class: "note what", x: x(mark.at) + (right ? -3 : 3), y: high - (row === 0 ? 14 : 3), "text-anchor": right ? "end" : "start" }, mark.text));
    }
    if (chart.limit) {
      const v = chart.limit(state);
      picture.append(svg("line", { class: "limit", x1: 0, x2: wide, y1: y(v), y2: y(v) }));
      picture.append(svg("text", { class: "note", x: 18, y: y(v) - 2 }, `target ${v} s`));
    }
    if (chart.cap) {
      const v = chart.cap(last);
      picture.append(svg("text", { class: "note cap", x: wide, y: y(v) - 2, "text-anchor": "end" }, `limit ${v}`));
    }
    for (const [kind, of] of chart.traces) {
      let path = "", gap = true;
      for (const s of samples) {
        if (of(s) < 0) { gap = true; continue; }
        path += `${gap ? "M" : "L"}${x(s.at).toFixed(1)} ${y(of(s)).toFixed(1)}`;
        gap = false;
      }
      picture.append(svg("path", { class: `trace ${kind}`, d: path || "M0 0" }));
    }
    const caption = document.createElement("figcaption");
    const name = document.createElement("span");
    name.textContent = chart.title;
    for (const [i, key] of (chart.keys ?? []).entries()) {
      const e = document.createElement("span");
      e.className = `key ${"ab"[i]}`;
      e.textContent = key;
      name.append(" ", e);
    }
    const now = document.createElement("span");
    now.className = chart.bad?.(last, state) ? "now bad" : "now";
    now.textContent = chart.text(last);
    caption.append(name, now);
    chart.figure.replaceChildren(caption, picture);
  }

  async function send(path, body) {
    try {
      const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      if (!answer.ok) say(await answer.text());
      await refresh();
    } catch (err) {
      say("The sandbox does not answer: " + err.message);
    }
  }

  function showLevers(levers) {
    const box = at("levers");
    if (box.childElementCount === 0) {
      for (const l of levers) {
        const b = document.createElement("button");
        b.type = "button";
        b.className = "lever";
        b.dataset.lever = l.name;
        b.addEventListener("click", () => send("/sandbox/lever", { name: l.name, on: b.getAttribute("aria-pressed") !== "true" }));
        box.append(b);
      }
    }
    for (const [i, l] of levers.entries()) {
      const b = box.children[i];
      b.setAttribute("aria-pressed", l.on);
      if (b.textContent !== l.title) b.textContent = l.title;
      b.title = `${l.does}. ${l.shows}`;
    }
    const on = levers.filter((l) => l.on);
    at("lever-says").textContent = on.length > 0
      ? on.map((l) => `${l.title}: ${l.does}. ${l.shows}`).join(" ") + " Press again to turn it off."
      : "Press a button to break something, and again to turn it off.";
  }

  function showLog(lines) {
    const rows = lines.slice(-25).reverse().map((l) => {
      const row = document.createElement("li");
      const when = document.createElement("time");
      when.textContent = new Date(l.at * 1000).toTimeString().slice(0, 8);
      row.append(when, l.text);
      return row;
    });
    at("log").replaceChildren(...rows);
  }

  // On a phone the charts scroll away, and whoever has pressed a button wants to see what comes of it.
  function showNow(state) {
    const last = state.samples.at(-1);
    at("now").textContent = last
      ? `TTFT p95 ${seconds(last.ttft)} (target ${seconds(state.target)}) · ${last.waiting} waiting` : "";
  }

  // The last scene sums up the rounds, and says what to run next.
  function showStory(scene) {
    const story = scene.story ?? [];
    at("over").hidden = story.length === 0;
    at("command").textContent = scene.command ?? "";
    if (at("story").childElementCount === story.length) return;
    at("story").replaceChildren(...story.map((text) => {
      const row = document.createElement("li");
      row.textContent = text;
      return row;
    }));
  }

  let asking = false;
  async function refresh() {
    if (asking) return;
    asking = true;
    try {
      const answer = await fetch("/sandbox/state");
      if (!answer.ok) return;
      const state = await answer.json();
      const scene = state.scene;
      at("title").textContent = scene.title;
      at("text").textContent = scene.text;
      at("waits").textContent = scene.waits ? `Waiting ${scene.waits}` : "";
      at("guide").classList.toggle("yours", scene.yours);
      at("next").hidden = !scene.next;
      document.body.classList.toggle("free", scene.free);
      at("doing").textContent = state.doing;
      at("alerts").textContent = state.alerts ? `Alerts: ${state.alerts}.` : "No alert is pending or firing.";
      for (const chart of charts) draw(chart, state);
      showNow(state);
      showLevers(state.levers);
      showStory(scene);
      showLog(state.log);
    } catch (err) {
      at("title").textContent = "The sandbox has ended.";
      at("text").textContent = "";
      at("waits").textContent = "Start it again in its terminal.";
      at("now").textContent = "";
      at("guide").classList.remove("yours");
    } finally {
      asking = false;
    }
  }

  // A thread shows its end, until somebody scrolls up in it; the feed is new after each change.
  const feed = at("feed"), back = new Map(); // by the time stamp of the message: how far from the end it was left
  const stamp = (thread) => thread.closest(".message").dataset.ts;
  feed.addEventListener("scroll", ({ target: t }) => {
    if (t.classList.contains("thread")) back.set(stamp(t), t.scrollHeight - t.clientHeight - t.scrollTop);
  }, true);
  new MutationObserver(() => {
    for (const t of feed.querySelectorAll(".thread")) {
      const left = back.get(stamp(t)) ?? 0;
      t.scrollTop = t.scrollHeight - t.clientHeight - (left < 40 ? 0 : left);
    }
  }).observe(feed, { childList: true });

  at("next").addEventListener("click", () => send("/sandbox/next", {}));
  refresh();
  setInterval(refresh, 1000);
})();
