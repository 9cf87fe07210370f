// Serves a documentation page under its policy with a small API beside it, and opens it in a browser over
// WebDriver: rules of axe in light, dark and narrow; search; requests; the page without JavaScript.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [folder, browser, driver, axePath, name] = process.argv.slice(2);
const text = (file) => readFileSync(join(folder, file), "utf8");
const axe = readFileSync(axePath, "utf8");
const requests = [];

const check = (holds, what) => {
  if (!holds) throw new Error(what);
};

const files = {
  "/docs": ["text/html; charset=utf-8", "docs.html"],
  "/docs/docs.css": ["text/css; charset=utf-8", "docs.css"],
  "/docs/docs.js": ["text/javascript; charset=utf-8", "docs.js"],
};
const server = createServer(async (request, response) => {
  const file = files[request.url];
  if (file) {
    response.writeHead(200, {
      "content-type": file[0],
      "content-security-policy": text("policy"),
      "x-content-type-options": "nosniff",
    });
    return response.end(text(file[1]));
  }
  const parts = [];
  for await (const part of request) parts.push(part);
  const { method, url, headers } = request;
  requests.push({ method, url, headers, body: Buffer.concat(parts).toString() });
  if (!url.startsWith("/api")) return response.writeHead(404).end();
  response.writeHead(method === "POST" ? 201 : 200, { "content-type": "application/json", "x-total-count": "1" });
  response.end(JSON.stringify([{ title: "<b>Sowing</b>" }]));
});

const listening = (made) =>
  new Promise((done) => made.listen(0, "127.0.0.1", () => done(made.address().port)));
const port = await listening(server);

const free = createServer();
const driverPort = await listening(free);
await new Promise((done) => free.close(done));
const process_ = spawn(driver, [`--port=${driverPort}`], { env: { ...process.env, TMPDIR: folder }, stdio: "ignore" });

const call = async (method, path, body) => {
  const answer = await fetch(`http://127.0.0.1:${driverPort}${path}`, {
    method,
    ...(body && { body: JSON.stringify(body) }),
  });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${path}: ${value.message}`);
  return value;
};

const until = async (what, holds) => {
  for (let tries = 0; tries < 600; tries++) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${what} does not happen`);
};

const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

const open = async (javascript) => {
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    `--user-data-dir=${join(folder, javascript ? "with" : "without")}`];
  const prefs = javascript ? {} : { "profile.managed_default_content_settings.javascript": 2 };
  const wanted = { browserName: "chrome", "goog:chromeOptions": { binary: browser, args, prefs }, "goog:loggingPrefs": { browser: "ALL" } };
  const { sessionId } = await call("POST", "/session", { capabilities: { alwaysMatch: wanted } });
  const session = `/session/${sessionId}`;
  // Rules take long on a large page of a busy machine.
  await call("POST", `${session}/timeouts`, { script: 300000 });
  await call("POST", `${session}/url`, { url: `http://127.0.0.1:${port}/docs` });
  const find = async (selector) => (await call("POST", `${session}/element`, { using: "css selector", value: selector }))[ELEMENT];
  return {
    script: (body, ...args) => call("POST", `${session}/execute/sync`, { script: body, args }),
    cdp: (cmd, params) => call("POST", `${session}/goog/cdp/execute`, { cmd, params }),
    type: async (selector, value) => call("POST", `${session}/element/${await find(selector)}/value`, { text: value }),
    click: async (selector) => call("POST", `${session}/element/${await find(selector)}/click`, {}),
    text: async (selector) => call("GET", `${session}/element/${await find(selector)}/text`),
    shown: async (selector) => call("GET", `${session}/element/${await find(selector)}/displayed`),
    log: () => call("POST", `${session}/se/log`, { type: "browser" }),
    close: () => call("DELETE", session),
  };
};

const accessible = async (page, what) => {
  await page.script(axe);
  const violations = await page.script(
    "return axe.run(document).then((result) => result.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html).slice(0, 3).join(' | ')));",
  );
  check(violations.length === 0, `${what}: ${violations.join("\n")}`);
};

const withJavascript = async () => {
  const page = await open(true);
  if (name === "large") {
    await accessible(page, "many operations");
    return page.close();
  }
  await page.script("document.querySelectorAll('details').forEach((one) => { one.open = true; });");
  await accessible(page, "light");
  await page.cdp("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await accessible(page, "dark");
  await page.cdp("Emulation.setEmulatedMedia", { features: [] });
  await page.cdp("Emulation.setDeviceMetricsOverride", { width: 360, height: 740, deviceScaleFactor: 1, mobile: true });
  await accessible(page, "narrow");
  const overflow = await page.script("return document.scrollingElement.scrollWidth - innerWidth;");
  check(overflow <= 0, `the narrow page is ${overflow} px too wide`);
  await page.cdp("Emulation.clearDeviceMetricsOverride", {});
  await page.script("document.querySelectorAll('details').forEach((one) => { one.open = false; });");
  await search(page);
  await requestsAreSent(page);
  const log = await page.log();
  const wrong = log.filter((line) => line.level === "SEVERE" && !line.message.includes("favicon"));
  check(wrong.length === 0, JSON.stringify(wrong));
  await page.close();
};

const shownOperations = (page) =>
  page.script("return [...document.querySelectorAll('article.operation:not([hidden])')].map((one) => one.id);");

const search = async (page) => {
  await page.type("#find", "PAYments");
  await until("the search finds one operation", async () => (await page.text("#found")) === "1 operation");
  check(JSON.stringify(await shownOperations(page)) === '["operation-pay"]', "the operation of payments");
  await page.script("location.hash = '#operation-getRoot';");
  await until("a link to a hidden operation ends the search", async () => (await shownOperations(page)).length > 5);
};

const requestsAreSent = async (page) => {
  await page.type("#token", "secret");
  await page.click("#operation-createArticle .try summary");
  await page.click("#try-createArticle button");
  await until("the answer", async () => (await page.text("#try-createArticle [role=status]")).startsWith("201"));
  const sent = requests.at(-1);
  check(sent.method === "POST" && sent.url === "/api/articles", sent.url);
  check(sent.headers.authorization === "Bearer secret", "the token is sent");
  check(sent.headers["content-type"] === "application/json", "the media type is sent");
  check(JSON.parse(sent.body).state === "draft", sent.body);
  const answer = await page.text("#try-createArticle .answer");
  check(answer.includes('"title": "<b>Sowing</b>"'), answer);
  check(answer.includes("x-total-count: 1"), answer);
  check(answer.includes("$TOKEN") && !answer.includes("secret"), answer);
  const marked = await page.script("return document.querySelectorAll('.answer b').length;");
  check(marked === 0, "an answer is text, never markup");

  await page.click("#operation-listArticles .try summary");
  await page.type("#try-listArticles [name=tag]", "a b\nc&d");
  await page.click("#try-listArticles button");
  await until("the list", async () => (await page.text("#try-listArticles [role=status]")).startsWith("200"));
  check(requests.at(-1).url.startsWith("/api/articles?tag=a+b&tag=c%26d"), requests.at(-1).url);
  check(requests.at(-1).headers.authorization === undefined, "a public operation gets no token");
  await page.click("#operation-getFiles .try summary");
  await page.script("document.querySelector('#try-getFiles [name=path]').value = 'a b/c?d';");
  await page.click("#try-getFiles button");
  await until("the file", async () => (await page.text("#try-getFiles [role=status]")).startsWith("200"));
  check(requests.at(-1).url === "/api/files/a%20b/c%3Fd", requests.at(-1).url);
  const stored = await page.script("return localStorage.length + sessionStorage.length + document.cookie.length;");
  check(stored === 0, "nothing is stored");
};

const withoutJavascript = async () => {
  const page = await open(false);
  const text = await page.text("main");
  check(name !== "blog" || (text.includes("Lists the newest articles.") && text.includes("What it costs.")), text);
  for (const hidden of ["#search", "#settings", "details.try"]) {
    check(!(await page.shown(hidden)), `${hidden} needs JavaScript and is shown`);
  }
  check(await page.shown("nav a"), "the contents are shown");
  await page.close();
};

let failed = false;
try {
  await until("the driver starts", () => call("GET", "/status").then((status) => status.ready, () => false));
  await withJavascript();
  await withoutJavascript();
  console.log("all checks");
} catch (error) {
  console.log(String(error.stack ?? error));
  failed = true;
} finally {
  process_.kill();
  server.closeAllConnections();
  server.close();
}
process.exitCode = failed ? 1 : 0;
