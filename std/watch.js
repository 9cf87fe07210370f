// Reloads the page of an error when there is another version of the program. The server holds the
// request until then; while the versions change places, it may not answer.
"use strict";
{
  const version = document.querySelector("main").dataset.version;
  const headers = { accept: "text/html", "x-runnel-fault": version };
  const wait = async () => {
    try {
      const answer = await fetch(location.href, { headers, cache: "no-store" });
      if (answer.status !== 204) return location.reload();
      wait();
    } catch {
      setTimeout(wait, 300);
    }
  };
  wait();
}
