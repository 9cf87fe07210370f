// The client of live pages: it applies the frames of the server to the slots of the page, and sends the
// events of the page to the server. Other parts are loaded when they are used: `live-more.js` has
// navigation, errors and server-sent events, `live-drop.js` drag and drop, `live-upload.js` files.
// `std/live/minify` writes the minified forms.
"use strict";
{
  const script = document.currentScript, page = document.documentElement;
  const pageSlots = page.dataset.live;
  const active = () => document.activeElement;
  const focus = (element) => element.focus({ preventScroll: true });
  // Attributes that hold URLs, and attributes that are code.
  const URLS = /(href|src|action|poster|^data)$/i, CODE = /^on|^srcdoc$/i;
  // Events that wait for a connection. The time without an acknowledgement that ends a connection, in ms.
  const MOST_WAITING = 100, PATIENCE = 20000;

  // Slots ----------------------------------------------------------------------------------------------
  // A slot is { at, slots, … }: its address and a dot, the slots inside it, and what it names: `from`
  // and `to` (comments around content), `item` (an item of a list), or `element` and `name`.
  const root = { at: "", slots: {} };
  // Elements with events: element → { type: address }.
  const handlers = new WeakMap();
  const find = (address) =>
    address.split(".").reduce((slot, number) => slot?.slots[number], root);
  const add = (scope, number, what) =>
    scope.slots[number] = { at: scope.at + number + ".", slots: {}, ...what };

  // Registers the slots of siblings up to `end`, in a scope.
  const scan = (node, end, scope) => {
    const outer = [];
    for (; node && node !== end; node = node.nextSibling) {
      const { nodeType, data, dataset } = node;
      if (nodeType === 8 && /^\[\d+$/.test(data)) {
        outer.push(scope);
        scope = add(scope, data.slice(1), { from: node });
      } else if (nodeType === 8 && data === "]" && outer[0]) {
        scope.to = node;
        scope = outer.pop();
      } else if (nodeType === 1) {
        const inner = dataset.k ? add(scope, dataset.k, { item: node }) : scope;
        const live = node === page ? pageSlots : dataset.live;
        // Slots and events of the element: `value=4 input!4 click!5`.
        if (live) {
          const events = {};
          handlers.set(node, events);
          for (const [, name, kind, number] of live.matchAll(/(\S+?)([=!])(\d+)/g)) {
            if (kind === "=") {
              add(inner, number, {
                element: node, name, isField: isField(node) && /^(value|checked|\.text)$/.test(name),
              });
            } else {
              events[name] = inner.at + number;
              if (/^(drop|upload)$/.test(name)) load(name);
              else addEventListener(name, handle, true);
            }
          }
        }
        scan(node.firstChild, null, inner);
      }
    }
  };
  const scanPage = () => {
    root.slots = {};
    scan(page, null, root);
    if (document.querySelector("a[live]")) load("more");
  };

  // Markup as nodes. Scripts in it do not run.
  const parse = (html, parent) => {
    const template = document.createElement("template"), isSvg = /svg$/.test(parent.namespaceURI);
    template.innerHTML = isSvg ? `<svg>${html}</svg>` : html;
    return [...(isSvg ? template.content.firstChild : template.content).childNodes];
  };

  // Fields ---------------------------------------------------------------------------------------------
  const isField = (element) => /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
  const isTyped = (field) => field.checked !== field.defaultChecked ||
    field.defaultValue != null && field.value !== field.defaultValue;
  const boundTo = (field) => {
    const events = handlers.get(field);
    return events?.input || events?.change;
  };
  // Element → its last event that is not acknowledged; slot → value that waits for this.
  const unsettled = new Map(), postponed = new Map();

  const setAttribute = ({ element, name, isField }, value) => {
    if (isField && name !== "checked") {
      const { value: old, selectionStart, selectionEnd } = element, text = value ?? "";
      if (old !== text) {
        // The caret stays before the text that follows it.
        const moved = (place) => text.endsWith(old.slice(place)) ? place + text.length - old.length : place;
        element.value = text;
        if (selectionStart != null && element === active()) {
          element.setSelectionRange(moved(selectionStart), moved(selectionEnd));
        }
      }
      // What differs from it was typed.
      element.defaultValue = text;
    } else if (name === ".text") {
      element.textContent = value;
    } else if (!CODE.test(name) && !(URLS.test(name) && /^javascript:/i.test(`${value}`.replace(/[\0- ]/g, "")))) {
      if (isField || name === "selected") element[name] = value != null;
      if (value == null) element.removeAttribute(name);
      else element.setAttribute(name, value === true ? "" : value);
    }
  };

  // Values that waited for an event of an element. A field that writes the slot it shows holds a later
  // value than those.
  const release = (element) => {
    for (const [slot, value] of postponed) {
      if (slot.element === element) {
        postponed.delete(slot);
        if (slot.at !== boundTo(element) + ".") setAttribute(slot, value);
      }
    }
  };

  // Finds fields and live elements again in other markup.
  const named = (nodes) => {
    const found = {};
    for (const node of nodes) {
      for (const element of node.querySelectorAll ? [node, ...node.querySelectorAll("*")] : []) {
        const { id, name, tagName, dataset } = element;
        if (isField(element) || dataset.live) {
          let key = [id, dataset.live || name, tagName, element.closest("[data-k]")?.dataset.k];
          while (found[key]) key += "+";
          found[key] = element;
        }
      }
    }
    return found;
  };
  // Replaces markup. What was typed stays, and the focus: always in fields that are not bound to the
  // server, and in others until the server has acknowledged it, or in the view of another process.
  const replacing = (nodes, replace, isNew) => {
    const old = named(nodes), focused = active(), { selectionStart, selectionEnd } = focused || {};
    const now = named(replace());
    for (const key in old) {
      const field = now[key], was = old[key], event = unsettled.get(was);
      if (!field) continue;
      if (isField(was) && was.type !== "file" &&
          (event || isTyped(was) && (!boundTo(was) || isNew && was === focused))) {
        field.value = was.value;
        field.checked = was.checked;
        if (typed.delete(was) || !event) changed(field);
        else unsettled.set(field, event);
      }
      unsettled.delete(was);
      if (was === focused) {
        focus(field);
        if (selectionStart != null) field.setSelectionRange(selectionStart, selectionEnd);
      }
    }
  };

  // Content --------------------------------------------------------------------------------------------
  const setContent = (slot, html) => {
    const { from, to } = slot, old = [], nodes = parse(html, from.parentNode);
    for (let node = from.nextSibling; node !== to; node = node.nextSibling) old.push(node);
    // What is equal stays, with its state.
    if (nodes.length === old.length && nodes.every((node, i) => node.isEqualNode(old[i]))) return;
    replacing(old, () => {
      old.forEach((node) => node.remove());
      from.after(...nodes);
      slot.slots = {};
      scan(from.nextSibling, to, slot);
      return nodes;
    });
  };

  // One operation of a list: ["+", id, before, html], ["-", id], ["~", id, html], [">", id, before].
  const operate = (list, [operation, id, before, html]) => {
    const item = list.slots[id]?.item, parent = list.from.parentNode, focused = active();
    if (operation === "-") {
      item?.remove();
      delete list.slots[id];
      return;
    }
    const element = operation === ">" ? item : parse(html || before, parent)[0];
    if (operation === "~") replacing([item], () => (item.replaceWith(element), [element]));
    else parent.insertBefore(element, list.slots[before]?.item || list.to);
    if (element === item) item.contains(focused) && focus(focused);
    else scan(element, element.nextSibling, list);
  };

  // Frames ---------------------------------------------------------------------------------------------
  let view, seq = 0, fingerprint;
  // Frames wait while an input method composes text.
  let held;

  const apply = (address, value) => {
    const slot = find(address);
    if (!slot) return;
    if (slot.isField && unsettled.has(slot.element)) {
      postponed.set(slot, value);
    } else if (slot.element) {
      setAttribute(slot, value);
    } else if (Array.isArray(value)) {
      value.forEach((operation) => operate(slot, operation));
    } else if (slot.to) {
      setContent(slot, value);
    }
  };

  const receive = (text) => {
    if (held) return held.push(text);
    try {
      applyFrame(text);
      tries = 0;
    } catch {
      // Page and server are out of step.
      view = null;
      lost();
    }
  };
  const applyFrame = (text) => {
    const [number, ...parts] = JSON.parse(text), values = [];
    let control = {};
    while (parts.length) {
      const [address, value] = parts.splice(0, 2);
      if (address) values.push([address, value]);
      else control = value;
    }
    const { ack, error, go, reload, page: markup } = control, isNew = control.view && control.view !== view;
    if (!isNew && number <= seq) return;
    seq = number;
    if (isNew) renew(control.view);
    if (ack != null) acknowledge(ack, error);
    if (markup != null) {
      const { body } = document;
      replacing([body], () => {
        body.replaceChildren(...parse(markup, body));
        scanPage();
        return [body];
      }, isNew);
      fingerprint = control.f;
    }
    values.forEach((pair) => apply(...pair));
    if (go ?? error ?? reload) load("more", (more) => more.control(control));
    if (!isReady && (isNew || ack != null)) {
      isReady = true;
      page.dataset.live = "on";
      // What the old connection may have lost; the view leaves out what it has handled.
      if (!isNew) queue.forEach((event) => event.isSent = false);
    }
    flush();
  };

  // Events ---------------------------------------------------------------------------------------------
  // Events that are not acknowledged, in order: { n, address, type, text, element, isSent }.
  let queue = [], count = 0, isReady, timer, patience;
  // Fields whose text is sent with the next frame of the screen.
  const typed = new Set();

  const send = (address, type, value, element) => {
    const text = JSON.stringify(value);
    let event = queue.at(-1);
    // The second submit of a double click.
    if (type === "submit" && queue.some((event) => event.element === element && event.text === text)) return;
    if (event?.element !== element || event.isSent || event.type !== type || type !== "input") {
      if (queue.length >= MOST_WAITING) return;
      event = { n: ++count, address, type, element };
      queue.push(event);
    }
    event.text = text;
    unsettled.set(element, event);
    flush();
  };

  const flush = () => {
    if (!isReady) return;
    for (const event of queue) {
      if (!event.isSent) connection.send(`[${event.n},"${event.address}","${event.type}",${event.text}]`);
      event.isSent = true;
    }
    if (queue[0]) patience ||= setTimeout(lost, PATIENCE);
  };

  const acknowledge = (n, error) => {
    clearTimeout(patience);
    patience = 0;
    while (queue[0]?.n <= n) settle(queue.shift(), error == null);
  };
  const settle = (event, isDone) => {
    const { element, type, text } = event;
    for (const [other, last] of unsettled) {
      if (last === event) {
        unsettled.delete(other);
        release(other);
      }
    }
    // As without JavaScript, a form shows again what it showed at first, unless it is bound to the server.
    if (type === "submit" && isDone && ![...element.elements].some(boundTo) &&
        JSON.stringify(valueOf(element, { type })) === text) element.reset();
  };

  // A new view. What was sent to the old one may have been handled, so of that only text is sent again.
  // Items of lists have other addresses there.
  const renew = (token) => {
    view = token;
    count = 0;
    queue = queue.filter((event) => {
      const isKept = (/^(input|change)$/.test(event.type) || !event.isSent) && !event.element.closest("[data-k]");
      if (isKept) event.n = ++count;
      else settle(event);
      event.isSent = false;
      return isKept;
    });
    const field = active();
    if (boundTo(field) && isTyped(field) && !unsettled.has(field)) changed(field);
  };

  // What an event carries.
  const valueOf = (element, { type, key, submitter }) => {
    if (/^key/.test(type)) return key;
    if (type === "submit") {
      const fields = {};
      for (const [name, value] of new FormData(element, submitter)) {
        if (name[0] !== "_" && typeof value === "string") {
          fields[name] = name in fields ? [].concat(fields[name], value) : value;
        }
      }
      return fields;
    }
    return element.type === "checkbox" ? element.checked : isField(element) ? element.value : null;
  };

  const changed = (field) => {
    const address = boundTo(field);
    if (address) {
      typed.add(field);
      // The next acknowledgement is not for this.
      unsettled.set(field, {});
      timer ||= setTimeout(sendTyped, 16);
    }
  };
  const sendTyped = () => {
    clearTimeout(timer);
    timer = 0;
    for (const field of typed) {
      const type = handlers.get(field).input ? "input" : "change";
      send(boundTo(field), type, valueOf(field, {}), field);
    }
    typed.clear();
  };

  const handle = (event) => {
    const { type } = event;
    let element = event.target;
    while (element && !handlers.get(element)?.[type]) element = element.parentElement;
    if (!element || event.isComposing) return;
    if (type === "input") return changed(element);
    sendTyped();
    if (type === "submit" || type === "click" && /^(A|BUTTON)$/.test(element.tagName)) event.preventDefault();
    send(handlers.get(element)[type], type, valueOf(element, event), element);
  };

  const load = (name, then) => import(new URL(`live-${name}.js`, script.src))
    .then((module) => module.default(client)).then(then, lost);

  addEventListener("compositionstart", () => held = []);
  addEventListener("compositionend", ({ target }) => {
    changed(target);
    const frames = held;
    held = null;
    frames?.forEach(receive);
  });

  // Connection -----------------------------------------------------------------------------------------
  let connection, tries = 0, failures = 0, retry;

  const open = () => {
    close();
    // Twice no WebSocket and never one: something on the way does not let it through.
    if (failures > 1) load("more", (more) => connection = more.open());
    else connection = openSocket();
  };
  const close = () => {
    clearTimeout(retry);
    clearTimeout(patience);
    isReady = patience = 0;
    const old = connection;
    connection = null;
    old?.close();
  };
  // Tries again, later each time, and at random so that not all clients come back at once.
  const lost = () => {
    close();
    page.dataset.live = "off";
    retry = setTimeout(open, Math.min(10000, 250 * 2 ** tries++) * (0.5 + Math.random()));
  };

  const openSocket = () => {
    const url = location.href.replace("http", "ws").replace(/#.*/, "");
    const socket = new WebSocket(url, "live.runnel");
    socket.onopen = () => {
      failures = -1e9;
      socket.send(hello());
    };
    socket.onmessage = ({ data }) => {
      if (socket === connection) receive(data);
    };
    socket.onclose = ({ code }) => {
      failures++;
      // 1008: the right to the page has ended, which says what its visitor may see now.
      if (socket === connection) code === 1008 ? location.reload() : lost();
    };
    return socket;
  };

  // Begins with the page as it is, which has no view yet.
  const start = (print) => {
    fingerprint = print;
    queue = [];
    unsettled.clear();
    view = null;
    scanPage();
    open();
  };
  const hello = () => JSON.stringify(["hello", view, seq, fingerprint]);
  // What the modules need.
  const client = { send, receive, lost, sendTyped, start, hello, handlers, view: () => view };
  start(script.dataset.f);
}
