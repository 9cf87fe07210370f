// Search while typing and buttons to copy examples: the pages work without.
const top_ = document.currentScript.dataset.top;
let entries;
const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
async function search(query) {
  // A server answers from its index; a folder of files has the whole list.
  if (!entries) {
    const asked = await fetch(`${top_}search.json?query=${encodeURIComponent(query)}`);
    const answer = await asked.json();
    if (!Array.isArray(answer)) return answer.found;
    entries = answer.map(([url, page, title, text]) => (
      { url, page, title, text, all: `${title} ${page} ${text}`.toLowerCase() }));
  }
  const wanted = words(query);
  const score = (one) => wanted.reduce((sum, word) => {
    if (one.title.toLowerCase().includes(word)) return sum + 10;
    return one.page.toLowerCase().includes(word) ? sum + 4 : sum + 1;
  }, 0);
  return entries.filter((one) => wanted.every((word) => one.all.includes(word)))
    .map((one) => [score(one), one]).sort((a, b) => b[0] - a[0]).slice(0, 20).map((pair) => pair[1]);
}
function item(one) {
  const li = document.createElement("li"), a = document.createElement("a"), p = document.createElement("p");
  a.href = top_ + one.url;
  a.textContent = one.title === one.page ? one.title : `${one.title} · ${one.page}`;
  p.className = "quiet small";
  p.textContent = one.text.slice(0, 120);
  li.append(a, p);
  return li;
}
const form = document.querySelector("form[role=search]"), field = form.q;
const list = Object.assign(document.createElement("ul"), { className: "found", hidden: true });
list.setAttribute("aria-label", "Results");
form.append(list);
let turn = 0;
field.addEventListener("input", async () => {
  const own = ++turn, query = field.value.trim();
  if (query.length < 2) { list.hidden = true; return; }
  const found = await search(query);
  if (own !== turn) return;
  list.replaceChildren(...found.slice(0, 8).map(item));
  if (!found.length) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing was found." }));
  list.hidden = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") list.hidden = true;
  if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) { event.preventDefault(); field.focus(); }
});
const asked = new URLSearchParams(location.search).get("q"), place = document.getElementById("results");
if (asked && place) {
  field.value = asked;
  if (!place.querySelector(".results")) search(asked).then((found) => {
    const results = Object.assign(document.createElement("ul"), { className: "results" });
    results.append(...found.map(item));
    place.replaceChildren(found.length ? results : "Nothing was found.");
  });
}
for (const pre of document.querySelectorAll("main pre")) {
  const button = Object.assign(document.createElement("button"), { className: "copy", type: "button", textContent: "Copy" });
  const text = pre.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  pre.append(button);
}
