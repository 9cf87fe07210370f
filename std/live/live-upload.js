// Uploads of live pages: files that are chosen in, or dropped on, an element with `upload:` are sent to
// the page's address as a form does, with the view's token. `data-upload` on the element has the percentage
// while it is sent, and "failed" after an error; a `<progress>` in or after the element shows it.
let client;

const addressOf = (element) => client.handlers.get(element)?.upload;
const targetOf = (element) => {
  while (element && !addressOf(element)) element = element.parentElement;
  return element;
};

const report = (element, part) => {
  const bar = element.querySelector("progress") || element.parentElement?.querySelector("progress");
  if (part == null) delete element.dataset.upload;
  else element.dataset.upload = typeof part === "number" ? Math.round(part * 100) : part;
  if (bar) bar.value = (part > 0 ? part : 0) * bar.max;
};

const upload = (element, files) => {
  if (!files.length) return;
  const body = new FormData(), request = new XMLHttpRequest();
  body.append("_event", addressOf(element));
  for (const file of files) body.append(element.name || "file", file);
  request.open("POST", location.href);
  request.setRequestHeader("runnel-view", client.view());
  request.upload.onprogress = ({ loaded, total }) => report(element, loaded / total);
  request.onload = () => {
    report(element, request.status < 400 ? null : "failed");
    if (request.status < 400 && element.type === "file") element.value = "";
  };
  request.onerror = () => report(element, "failed");
  request.send(body);
};

export default (given) => {
  if (client) return;
  client = given;
  addEventListener("change", ({ target }) => {
    const element = targetOf(target);
    if (element && target.files) upload(element, target.files);
  });
  addEventListener("dragover", (event) => {
    if (targetOf(event.target) && event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    const element = targetOf(event.target), { files } = event.dataTransfer;
    if (!element || !files.length) return;
    event.preventDefault();
    upload(element, files);
  });
};
