// Makes the search page quicker: counts while somebody types, results without another page load. The
// page works without it, and all markup comes from the server.
"use strict";
{
  const form = document.getElementById("search");
  const input = document.getElementById("q");
  const count = document.getElementById("count");
  const found = document.getElementById("found");
  const texts = form.dataset;
  // Milliseconds without a key after which documents are counted, and after which they are fetched.
  const COUNT_AFTER = 180;
  const FETCH_AFTER = 1200;
  let timers = [];
  let running = null;
  // Whether the newest entry of the history came from a pause while typing: then the next replaces it.
  let paused = false;

  const abort = () => {
    running?.abort();
    running = null;
    found.removeAttribute("aria-busy");
  };
  const stop = () => {
    timers.forEach(clearTimeout);
    timers = [];
    abort();
  };

  // What the server answers; nothing when something else was asked for in the meantime.
  const ask = async (address, read) => {
    abort();
    const mine = new AbortController();
    running = mine;
    found.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { signal: mine.signal });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const value = await read(answer);
      return mine === running ? value : null;
    } catch {
      if (mine === running) count.textContent = texts.failed;
      return null;
    } finally {
      if (mine === running) {
        running = null;
        found.removeAttribute("aria-busy");
      }
    }
  };

  const parsed = async (answer) =>
    new DOMParser().parseFromString(await answer.text(), "text/html");

  const countText = (total) =>
    total === 0 ? texts.none : total === 1 ? texts.one : texts.many.replace("#", total);

  const addressOf = (query) =>
    query ? `${location.pathname}?${new URLSearchParams({ q: query })}` : location.pathname;

  const clear = () => {
    stop();
    found.replaceChildren();
    count.textContent = "";
  };

  const live = async (query) => {
    const asked = new URLSearchParams({ query, allocations: 0, unique: true });
    const answer = await ask(`${texts.live}?${asked}`, (answer) => answer.json());
    if (answer) count.textContent = countText(answer.total);
  };

  // Shows a page of results; true when it is there.
  const show = async (address) => {
    stop();
    const page = await ask(address, parsed);
    const results = page?.getElementById("found");
    if (!results) return false;
    found.replaceChildren(...results.childNodes);
    count.textContent = page.getElementById("count").textContent;
    document.title = page.title;
    return true;
  };

  const remember = (address, replace) => {
    const now = location.pathname + location.search;
    if (address === now) return false;
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    return true;
  };

  const full = (pause) => {
    const query = input.value.trim();
    const address = addressOf(query);
    const changed = remember(address, pause && paused);
    paused = pause && (changed || paused);
    show(address);
  };

  // Adds the next page to this one.
  const more = async (link) => {
    stop();
    const page = await ask(link.href, parsed);
    if (!page) return;
    const sections = [...page.querySelectorAll("#found > section")];
    const items = sections.flatMap((section) => [...section.querySelectorAll("li")]);
    const last = [...found.querySelectorAll(":scope > section")].pop();
    const pages = document.getElementById("pages");
    if (last && sections[0]?.dataset.group === last.dataset.group) {
      last.querySelector("ol").append(...sections.shift().querySelectorAll("li"));
    }
    pages.before(...sections);
    const next = page.querySelector("#pages a[rel=next]");
    if (next) link.href = next.href;
    else link.remove();
    pages.querySelector("span").textContent = page.querySelector("#pages span").textContent;
    const shown = found.querySelectorAll("section li").length;
    const total = page.getElementById("count").textContent;
    count.textContent = `${total}, ${texts.shown.replace("#", shown)}`;
    items[0]?.focus();
  };

  const typed = () => {
    const query = input.value.trim();
    stop();
    if (!query) return clear();
    timers = [
      setTimeout(() => live(query), COUNT_AFTER),
      setTimeout(() => full(true), FETCH_AFTER),
    ];
  };

  input.addEventListener("input", (event) => {
    if (!event.isComposing) typed();
  });
  input.addEventListener("compositionend", typed);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    full(false);
  });

  found.addEventListener("click", async (event) => {
    const link = event.target.closest("#choices a, #pages a");
    const plain = event.button === 0 && !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (!link || !plain) return;
    event.preventDefault();
    if (link.rel === "next") return more(link);
    const query = new URL(link.href).searchParams;
    input.value = query.get("q");
    const page = query.get("page");
    const address = addressOf(input.value) + (page > 1 ? `&page=${page}` : "");
    remember(address, false);
    paused = false;
    if (await show(link.href)) count.focus();
  });

  addEventListener("popstate", () => {
    paused = false;
    input.value = new URLSearchParams(location.search).get("q") ?? "";
    show(location.href);
  });
}
