// Parts of the client of live pages that few visits need: navigation without loading the page again,
// errors of the server, and server-sent events where no WebSocket comes through.
let client;

// Navigation -------------------------------------------------------------------------------------------

// Scripts and styles: where they differ, the page is loaded as a whole.
const assets = (page) => [...page.querySelectorAll("script[src], style, link[rel=stylesheet]")]
  .map((element) => element.getAttribute("src") || element.getAttribute("href") || element.textContent)
  .join();

// The address of a page, without its parts.
const address = () => location.pathname + location.search;
let shown = address();

// Shows another page of this server. `isBack`: the location bar has its address already.
const visit = async (url, isBack) => {
  client.sendTyped();
  try {
    const answer = await fetch(url, { headers: { accept: "text/html" } });
    const [, nonce] = answer.headers.get("content-security-policy")?.match(/'nonce-([^']+)/) || [];
    // Code in the page needs the nonce of this document, not that of its own answer.
    const own = document.querySelector("[nonce]")?.nonce;
    const text = (await answer.text()).replaceAll(` nonce="${nonce}"`, ` nonce="${own}"`);
    const page = new DOMParser().parseFromString(text, "text/html");
    const script = page.querySelector("script[data-f]");
    if (!script || assets(page) !== assets(document)) throw 0;
    if (!isBack) history.pushState(null, "", answer.url);
    shown = address();
    document.title = page.title;
    document.documentElement.lang = page.documentElement.lang;
    document.body.replaceWith(page.body);
    client.start(script.dataset.f);
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) target.scrollIntoView();
    else if (!isBack) scrollTo(0, 0);
    // Screen readers begin with the new page.
    const autofocus = document.querySelector("[autofocus]");
    if (autofocus) autofocus.focus();
    announce(page.title);
  } catch {
    location.assign(url);
  }
};

// Says the title of the new page to those who cannot see it.
const announce = (title) => {
  const place = document.createElement("p");
  place.setAttribute("role", "status");
  place.setAttribute("aria-live", "polite");
  place.style.cssText = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)";
  document.body.append(place);
  setTimeout(() => place.textContent = title, 100);
};

const followLinks = () => {
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[live]");
    const isOther = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || event.defaultPrevented || isOther || link.target || link.origin !== location.origin) return;
    event.preventDefault();
    visit(link.href);
  });
  addEventListener("popstate", () => {
    // Not for another part of the same page.
    if (address() !== shown) visit(location.href, true);
  });
};

// Errors -----------------------------------------------------------------------------------------------

// Shows an error until the next event of the user.
const complain = (text) => {
  let place = document.querySelector("[data-live-error]");
  if (!place) {
    place = document.createElement("p");
    place.dataset.liveError = "";
    place.setAttribute("role", "alert");
    document.body.append(place);
  }
  place.textContent = text;
};
const forgetError = () => document.querySelector("[data-live-error]")?.remove();

// What the server says beside the slots.
const control = ({ go, page, error, reload }) => {
  if (error != null) complain(error);
  if (reload) {
    location.reload();
  } else if (go != null && page == null) {
    visit(go);
  } else if (go != null) {
    history.pushState(null, "", go);
    shown = address();
  }
};

// Server-sent events -----------------------------------------------------------------------------------

// Frames as events of a stream at the page's own address; events by POST, one after the other. An EventSource
// cannot send headers, and a URL with the view's token would stand in logs.
const open = () => {
  const stopper = new AbortController();
  let isOpen = true, last = Promise.resolve();
  const fail = () => {
    if (isOpen) client.lost();
  };
  const post = (body) => fetch(location, {
    method: "POST", body, headers: {
      "content-type": "application/vnd.runnel.event+json", "runnel-view": client.view(),
    },
  });
  const read = async () => {
    const answer = await fetch(location, {
      signal: stopper.signal, headers: { accept: "text/event-stream", "runnel-live": client.hello() },
    });
    // The right to the page has ended while there was no connection.
    if (answer.redirected || /40[13]/.test(answer.status)) location.reload();
    if (!answer.ok) throw 0;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) throw 0;
      const events = (text + value).split("\n\n");
      text = events.pop();
      for (const event of events) {
        if (isOpen && event.startsWith("data: ")) client.receive(event.slice(6));
      }
    }
  };
  read().catch(fail);
  return {
    send: (body) => {
      last = last.then(() => isOpen && post(body)).then((answer) => {
        if (answer && !answer.ok) throw 0;
      }).catch(fail);
    },
    close: () => {
      isOpen = false;
      stopper.abort();
    },
  };
};

export default (given) => {
  if (!client) {
    client = given;
    followLinks();
    for (const type of ["click", "input", "submit"]) addEventListener(type, forgetError, true);
  }
  return { control, open };
};
