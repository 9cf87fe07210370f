// Progress of an upload: a form with `enctype="multipart/form-data"` and a `<progress>` in it is sent here, and its
// answer takes the place of the page, as the browser does by itself without this script.
{
  // The answer is here already, also behind a redirect.
  const show = (request) => {
    const type = request.getResponseHeader("Content-Type") || "";
    const text = type.startsWith("text/html")
      ? request.responseText
      : `<pre>${request.responseText.replace(/[&<]/g, (c) => `&#${c.charCodeAt()};`)}</pre>`;
    const moves = request.responseURL !== location.href;
    if (moves) history.pushState(null, "", request.responseURL);
    document.open();
    document.write(text);
    document.close();
    // The way back leads to the page that was here.
    if (moves) addEventListener("popstate", () => location.reload());
  };

  addEventListener("submit", (event) => {
    const form = event.target, bar = form.querySelector("progress"), { submitter } = event;
    if (!bar || form.enctype !== "multipart/form-data" || event.defaultPrevented) return;
    event.preventDefault();
    const body = new FormData(form), request = new XMLHttpRequest();
    if (submitter?.name) body.append(submitter.name, submitter.value);
    const send = (sending) => {
      if (submitter) submitter.disabled = sending;
      bar.hidden = !sending;
    };
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html,*/*;q=0.8");
    request.upload.onprogress = ({ loaded, total }) => (bar.value = (loaded / total) * bar.max);
    request.onload = () => show(request);
    request.onerror = () => {
      send(false);
      form.dataset.failed = "";
    };
    delete form.dataset.failed;
    send(true);
    request.send(body);
  });
}
