// Drag and drop of live pages: elements with `draggable` are dropped on elements with `drop:`, by mouse,
// touch and keyboard. The server gets { item, before }: the `data-item` (or id, or text) of what was
// dropped, and that of the draggable element which then follows; null = none.
//
// For styles: `data-dragged` is on the element that is dragged, `data-drop-over` on the place, and
// `data-drop-before` on the element that would follow. Keys: Space takes and drops, arrows choose the
// place, Escape puts back.
let client, item, zone, before;

const DRAGGABLE = "[draggable=true]";
const LONG_PRESS = 300;
const nameOf = (element) => element && (element.dataset.item ?? (element.id || element.textContent.trim()));
const addressOf = (element) => client.handlers.get(element)?.drop;
const zoneOf = (element) => {
  while (element && !addressOf(element)) element = element.parentElement;
  return element;
};
const zones = () => [...document.querySelectorAll("[data-live*='drop!']")];
const others = (zone) => [...zone.querySelectorAll(DRAGGABLE)].filter((other) => other !== item);

// Shows where it would be dropped.
const show = (newZone, newBefore) => {
  if (zone) delete zone.dataset.dropOver;
  if (before) delete before.dataset.dropBefore;
  [zone, before] = [newZone, newBefore];
  if (zone) zone.dataset.dropOver = "";
  if (before) before.dataset.dropBefore = "";
};

const take = (element) => {
  item = element;
  item.dataset.dragged = "";
};

const end = () => {
  show();
  if (item) delete item.dataset.dragged;
  item = null;
};

const drop = (name = nameOf(item)) => {
  if (zone) client.send(addressOf(zone), "drop", { item: name, before: nameOf(before) ?? null }, zone);
  end();
};

// The element that follows a point: below it, or beside it in a row.
const following = (zone, x, y) => others(zone).find((other) => {
  const { left, top, right, bottom } = other.getBoundingClientRect();
  const next = other.nextElementSibling?.getBoundingClientRect();
  const isRow = next && next.top < bottom && next.left >= right;
  return isRow ? y < bottom && x < (left + right) / 2 || y < top : y < (top + bottom) / 2;
});

const over = (target, { clientX, clientY }) => {
  const place = zoneOf(target);
  show(place, place && following(place, clientX, clientY));
};

const startMouse = () => {
  addEventListener("dragstart", (event) => {
    const element = event.target.closest?.(DRAGGABLE);
    if (!element) return;
    event.dataTransfer.setData("text/plain", nameOf(element));
    event.dataTransfer.effectAllowed = "move";
    take(element);
  });
  addEventListener("dragover", (event) => {
    over(event.target, event);
    if (zone) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    const files = event.dataTransfer.files.length;
    if (!zone || files) return;
    event.preventDefault();
    drop(item ? nameOf(item) : event.dataTransfer.getData("text/plain"));
  });
  addEventListener("dragend", end);
};

// A long press takes the element, so that a page can still be scrolled.
const startTouch = () => {
  let timer;
  addEventListener("touchstart", ({ target, touches }) => {
    const element = target.closest?.(DRAGGABLE);
    clearTimeout(timer);
    if (element && touches.length === 1) timer = setTimeout(take, LONG_PRESS, element);
  }, { passive: true });
  addEventListener("touchmove", (event) => {
    clearTimeout(timer);
    if (!item) return;
    event.preventDefault();
    const [touch] = event.touches;
    over(document.elementFromPoint(touch.clientX, touch.clientY), touch);
  }, { passive: false });
  addEventListener("touchend", () => {
    clearTimeout(timer);
    if (item) drop();
  });
  addEventListener("touchcancel", () => (clearTimeout(timer), end()));
};

// Moves to the zone or the place that is so many steps away.
const step = (zoneSteps, placeSteps) => {
  const all = zones(), at = (all.indexOf(zone) + zoneSteps + all.length) % all.length;
  const next = all[at], places = [...others(next), undefined];
  const place = zoneSteps ? 0 : places.indexOf(before) + placeSteps;
  show(next, places[(place + places.length) % places.length]);
};

const KEYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const startKeys = () => addEventListener("keydown", (event) => {
  const element = event.target;
  if (!element.matches?.(DRAGGABLE) || event.isComposing) return;
  if (event.key === " ") {
    if (item) return event.preventDefault(), drop();
    take(element);
    show(zoneOf(element), others(zoneOf(element) || element).find((other) =>
      element.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING));
  } else if (item && KEYS[event.key]) {
    step(...KEYS[event.key]);
  } else if (item && event.key === "Escape") {
    end();
  } else {
    return;
  }
  event.preventDefault();
});

export default (given) => {
  if (client) return;
  client = given;
  startMouse();
  startTouch();
  startKeys();
  // Elements that only a mouse could reach.
  const reach = () => document.querySelectorAll(`${DRAGGABLE}:not([tabindex])`)
    .forEach((element) => element.tabIndex = 0);
  reach();
  new MutationObserver(reach).observe(document, { subtree: true, childList: true });
};
