// Search and requests of the documentation page. The page is complete without it. Nothing is stored:
// the token stays in its field.
"use strict";
{
  const SHOWN = 256 * 1024;
  const at = (id) => document.getElementById(id);

  // Search --------------------------------------------------------------------------------------------

  const find = at("find");
  const search = at("search");
  const operations = [...document.querySelectorAll("article.operation")].map((article) => ({
    article,
    link: document.querySelector(`nav li[data-for="${CSS.escape(article.id)}"]`),
    text: article.textContent.toLowerCase(),
    head: `${article.id} ${article.querySelector("h3").textContent}`.toLowerCase(),
  }));

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const holds = (text) => words.every((word) => text.includes(word));
    // An address or a name first; the texts only where no name has the words.
    const named = operations.some((one) => holds(one.head));
    let count = 0;
    for (const one of operations) {
      const shown = holds(named ? one.head : one.text);
      one.article.hidden = !shown;
      one.link.hidden = !shown;
      count += shown;
    }
    for (const group of document.querySelectorAll(".group:not(.schemas)")) {
      group.hidden = !group.querySelector(":is(article, li):not([hidden])");
    }
    at("found").textContent = !words.length ? "" : count === 1 ? "1 operation" : `${count} operations`;
  };

  search.hidden = false;
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    operations.find((one) => !one.article.hidden)?.article.scrollIntoView();
  });
  find.addEventListener("input", filter);
  addEventListener("hashchange", () => {
    if (document.querySelector(":target")?.closest("[hidden]")) {
      find.value = "";
      filter();
      document.querySelector(":target").scrollIntoView();
    }
  });

  // Requests ------------------------------------------------------------------------------------------

  const settings = at("settings");
  settings.hidden = false;
  for (const option of at("server").options) option.textContent = new URL(option.value, location.href).href;
  settings.addEventListener("submit", (event) => event.preventDefault());

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const fields = (form, place) => [...form.querySelectorAll(`[data-in="${place}"]`)];
  const values = (input) => {
    if (input.dataset.list !== undefined) return input.value.split("\n").map((one) => one.trim()).filter(Boolean);
    return input.value === "" ? [] : [input.value];
  };

  const requestOf = (form) => {
    let path = form.dataset.path;
    for (const input of fields(form, "path")) {
      const parts = input.dataset.rest === undefined ? [input.value] : input.value.split("/");
      path = path.replace(`{${input.name}}`, () => parts.map(encodeURIComponent).join("/"));
    }
    // An address of the API is below the one of its server.
    const base = new URL(at("server").value, location.href).href.replace(/\/+$/, "");
    const url = new URL(base + path);
    for (const input of fields(form, "query")) {
      for (const value of values(input)) url.searchParams.append(input.name, value);
    }
    const headers = new Headers({ Accept: form.dataset.accept });
    for (const input of fields(form, "header")) {
      if (input.value) headers.set(input.name, input.value);
    }
    const token = at("token")?.value.trim();
    if (token && form.dataset.guarded === "true") headers.set("Authorization", `Bearer ${token}`);
    let body;
    const content = form.querySelector("[data-media]");
    const media = form.querySelector("[data-form]")?.dataset.form;
    if (content) {
      body = content.value;
      headers.set("Content-Type", content.dataset.media);
    } else if (media) {
      body = media.startsWith("multipart/") ? new FormData() : new URLSearchParams();
      for (const input of fields(form, "form")) {
        const parts = input.type === "file" ? [...input.files] : values(input);
        for (const part of parts) body.append(input.name, part);
      }
    }
    return { url, method: form.dataset.method, headers, body };
  };

  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  // The same request for a terminal. The token is not repeated.
  const commandOf = ({ url, method, headers, body }) => {
    const parts = [`curl -X ${method} ${quoted(url.href)}`];
    for (const [name, value] of headers) {
      parts.push(name === "authorization" ? `-H "Authorization: Bearer $TOKEN"` : `-H ${quoted(`${name}: ${value}`)}`);
    }
    if (typeof body === "string") parts.push(`--data-binary ${quoted(body)}`);
    else if (body) {
      for (const [name, value] of body) parts.push(`-F ${quoted(`${name}=${value instanceof File ? `@${value.name}` : value}`)}`);
    }
    return parts.join(" \\\n  ");
  };

  const textOf = async (response) => {
    const type = response.headers.get("Content-Type") ?? "";
    const content = await response.blob();
    if (!content.size) return "";
    if (!/json|text\/|xml|javascript/.test(type)) return `${content.size} bytes of ${type || "an unknown type"}`;
    const text = await content.slice(0, SHOWN).text();
    if (content.size > SHOWN) return `${text}\n… ${content.size - SHOWN} more bytes`;
    if (!/[/+]json/.test(type)) return text;
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  };

  const show = (form, parts) => {
    const answer = form.querySelector(".answer");
    const name = answer.getAttribute("aria-label");
    answer.replaceChildren(...parts.flatMap(([title, text]) => [
      element("h4", title),
      element("pre", text, { class: "card", tabindex: "0", role: "region", "aria-label": `${title}: ${name}` }),
    ]));
    answer.hidden = false;
  };

  const send = async (form) => {
    const status = form.querySelector("[role=status]");
    const button = form.querySelector("button");
    button.disabled = true;
    status.textContent = "Sending";
    const begun = performance.now();
    try {
      const request = requestOf(form);
      const { url, ...init } = request;
      const response = await fetch(url, init);
      const content = await textOf(response);
      const took = Math.round(performance.now() - begun);
      const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
      status.textContent = `${response.status} ${response.statusText} in ${took} ms`;
      show(form, [
        ["Content", content || "(empty)"],
        ["Headers", headers || "(none)"],
        ["Request", commandOf(request)],
      ]);
    } catch (error) {
      status.textContent = `No answer: ${error.message}`;
    } finally {
      button.disabled = false;
    }
  };

  for (const details of document.querySelectorAll("details.try")) {
    details.hidden = false;
    const form = details.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
  }
}
