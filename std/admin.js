// The dashboard of the admin port: reads metrics.json each second, and draws the last two minutes.
"use strict";
{
  const KEPT = 120, EVERY = 1000, SHOWN = 30;
  const LEFT = 56, RIGHT = 398, TOP = 26, BOTTOM = 160;
  const at = (id) => document.getElementById(id);
  const set = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };
  const points = [];
  let before = null, paused = false, hovered = null;

  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const time = (us) => us === null ? "–" : us < 1000 ? `${Math.round(us)} µs`
    : us < 1e6 ? `${(us / 1000).toPrecision(3)} ms` : `${(us / 1e6).toPrecision(3)} s`;
  const size = (n) => n < 1e4 ? `${n} B` : n < 1e7 ? `${(n / 1024).toFixed(0)} KiB`
    : n < 1e10 ? `${(n / 1048576).toFixed(0)} MiB` : `${(n / 1073741824).toFixed(1)} GiB`;
  const count = (n) => n < 10 && n % 1 ? n.toFixed(1) : Math.round(n).toLocaleString("en");

  // The value below which this part of all lies, between the bounds of a histogram.
  const quantile = (counts, bounds, part) => {
    const all = sum(counts);
    if (!all) return null;
    let left = part * all;
    for (let i = 0; i < counts.length; i++) {
      if (left <= counts[i]) {
        const low = i ? bounds[i - 1] : 0, high = i < bounds.length ? bounds[i] : low;
        return low + (high - low) * (counts[i] ? left / counts[i] : 0);
      }
      left -= counts[i];
    }
    return bounds[bounds.length - 1];
  };

  const total = (numbers) => {
    const counts = new Array(numbers.bounds.length + 1).fill(0);
    let requests = 0, failed = 0;
    for (const route of numbers.routes) {
      route.counts.forEach((n, i) => { counts[i] += n; });
      requests += sum(route.classes);
      failed += route.classes[5];
    }
    return { counts, requests, failed, when: performance.now(), cpu: numbers.cpu };
  };

  // Charts ------------------------------------------------------------------------------------------

  const CHARTS = [
    { id: "rateChart", name: "Requests a second", shows: ["rate"], text: count },
    { id: "timeChart", name: "Time to answer", shows: ["p50", "p99"], text: time },
    { id: "lagChart", name: "Loop lag", shows: ["lag"], text: time },
  ];
  const element = (tag, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  // The step between lines of a grid, of which there are at most five.
  const step = (most) => {
    const ten = 10 ** Math.floor(Math.log10(most / 5));
    return [1, 2, 5, 10].map((n) => n * ten).find((n) => n * 5 >= most);
  };
  const x = (i) => LEFT + (RIGHT - LEFT) * (KEPT - points.length + i) / (KEPT - 1);

  const draw = ({ id, name, shows, text }) => {
    const values = shows.map((show) => points.map((point) => point[show]));
    const most = Math.max(1, ...values.flat().map((value) => value ?? 0));
    const each = step(most), reach = Math.ceil(most / each) * each;
    const y = (value) => BOTTOM - (BOTTOM - TOP) * value / reach;
    const parts = [];
    for (let tick = 0; tick <= reach; tick += each) {
      parts.push(element("path", { class: "grid", d: `M${LEFT} ${y(tick)}H${RIGHT}` }),
        element("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, tick ? text(tick) : "0"));
    }
    parts.push(element("path", { class: "axis", d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}` }));
    for (const [ago, anchor] of [[120, "start"], [60, "middle"], [0, "end"]]) {
      const place = LEFT + (RIGHT - LEFT) * (1 - ago / 120);
      parts.push(element("text", { x: place, y: BOTTOM + 18, "text-anchor": anchor }, ago ? `${ago} s ago` : "now"));
    }
    values.forEach((list, number) => {
      let pen = "M", d = "";
      list.forEach((value, i) => {
        if (value === null) { pen = "M"; return; }
        d += `${pen}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      });
      parts.push(element("path", { class: number ? "curve second" : "curve", d }));
    });
    const shown = points[hovered ?? points.length - 1];
    const says = shows.map((show) => text(shown[show] ?? 0)).join(", ");
    const ago = hovered === null ? "now" : `${points.length - 1 - hovered} s ago`;
    if (hovered !== null) parts.push(element("path", { class: "axis", d: `M${x(hovered)} ${TOP}V${BOTTOM}` }));
    parts.push(element("text", { class: "tip", x: RIGHT, y: 14, "text-anchor": "end" }, `${ago}: ${says}`));
    at(id).replaceChildren(...parts);
    at(id).setAttribute("aria-label", `${name}: now ${says}, at most ${text(most)}`);
  };

  for (const { id } of CHARTS) {
    const hover = (event) => {
      const box = at(id).getBoundingClientRect();
      const part = ((event.clientX - box.left) / box.width * 400 - LEFT) / (RIGHT - LEFT);
      const i = Math.round(part * (KEPT - 1)) - (KEPT - points.length);
      hovered = points[i] ? i : null;
      if (points.length) CHARTS.forEach(draw);
    };
    at(id).addEventListener("pointermove", hover);
    at(id).addEventListener("pointerleave", () => { hovered = null; if (points.length) CHARTS.forEach(draw); });
  }

  // Figures and tables --------------------------------------------------------------------------------

  const rows = (id, list) => {
    if (!list.length) return;
    at(id).replaceChildren(...list.map((cells) => {
      const row = document.createElement("tr");
      row.append(...cells.map((text, i) => {
        const cell = document.createElement(i ? "td" : "th");
        if (i) cell.className = "number";
        else cell.scope = "row";
        cell.textContent = text;
        return cell;
      }));
      return row;
    }));
  };

  const routes = ({ routes, bounds }) => rows("routes", routes
    .map((route) => ({ route, all: sum(route.classes), late: quantile(route.counts, bounds, .99) }))
    .sort((a, b) => b.late - a.late).slice(0, SHOWN)
    .map(({ route, all, late }) => [`${route.method} ${route.route}`, count(all), count(route.classes[4]),
      count(route.classes[5]), time(quantile(route.counts, bounds, .5)), time(late), time(route.time / all),
      time(route.busy / all), time(route.held), size(route.sent)]));

  const places = (numbers) => rows("places", numbers.places.map((place) => [`${place.kind} ${place.place}`,
    ...["done", "rows", "kept", "commits", "writes", "failures"].map((name) => count(place[name])),
    `${count(place.used)} of ${count(place.slots)}`, count(place.waiting)]));

  const state = (text, kind) => { set("state", text); at("state").className = `badge ${kind}`; };

  const show = (numbers) => {
    const now = total(numbers);
    set("active", count(numbers.active));
    set("open", count(numbers.open));
    set("lag", time(numbers.lag));
    set("most", time(numbers.longestLag));
    set("fibers", `${count(numbers.fibersRunning)}, ${count(numbers.fibersWaiting)}`);
    if (numbers.resident !== undefined) {
      set("memory", size(numbers.resident));
      set("descriptors", count(numbers.descriptors));
    }
    const minutes = Math.floor(numbers.uptime / 60), hours = Math.floor(minutes / 60);
    set("uptime", `for ${hours ? `${hours} h ` : ""}${minutes % 60} min, ${numbers.workers} ${numbers.workers === 1 ? "worker" : "workers"}`);
    state(...(numbers.draining ? ["stopping", "warn"] : ["serving", "good"]));
    if (before && now.requests >= before.requests) {
      const seconds = (now.when - before.when) / 1000;
      const counts = now.counts.map((n, i) => n - before.counts[i]);
      const point = { rate: (now.requests - before.requests) / seconds, lag: numbers.lag,
        p50: quantile(counts, numbers.bounds, .5), p99: quantile(counts, numbers.bounds, .99) };
      set("rate", count(point.rate));
      set("p50", time(point.p50));
      set("p99", time(point.p99));
      set("errors", `${count((now.failed - before.failed) / seconds)} /s`);
      if (now.cpu !== undefined) set("cpu", `${Math.round(100 * (now.cpu - before.cpu) / seconds)} %`);
      points.push(point);
      if (points.length > KEPT) points.shift();
      CHARTS.forEach(draw);
    }
    before = now;
    routes(numbers);
    places(numbers);
  };

  const look = async () => {
    if (document.hidden || paused) {
      before = null;
    } else {
      try {
        const answer = await fetch("metrics.json", { cache: "no-store" });
        if (!answer.ok) throw new Error(String(answer.status));
        show(await answer.json());
      } catch {
        state("no answer", "bad");
        before = null;
      }
    }
    setTimeout(look, EVERY);
  };

  at("pause").addEventListener("click", () => {
    paused = !paused;
    at("pause").setAttribute("aria-pressed", String(paused));
  });
  look();
}
