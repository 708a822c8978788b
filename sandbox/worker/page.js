// Runs in every document before anything else.  `$$name` and `$$report` are replaced by names that nobody can guess.
// A component can reach what this leaves behind only by fooling itself: verdicts are taken outside the page.
(() => {
  "use strict";
  const report = globalThis["$$report"];
  delete globalThis["$$report"];
  const modules = globalThis.$$modules;
  delete globalThis.$$modules;
  const define = (object, key, value) => Object.defineProperty(object, key, { value, configurable: true, writable: true });

  // Of thousands of errors the host hears of the first of each kind: one costs it more than it costs the page.
  const listen = globalThis.addEventListener.bind(globalThis);
  const quiet = Function.prototype.call.bind(Event.prototype.preventDefault);
  const heard = { error: 0, unhandledrejection: 0 };
  const enough = Object.keys(heard).map((kind) => [kind, (event) => event.isTrusted && ++heard[kind] > 20 && quiet(event)]);
  const hear = () => enough.forEach((one) => listen(...one));
  hear();

  // The same clock, time zone and random numbers for every component.
  const RealDate = Date;
  const begun = RealDate.now();
  const now = () => 1767258000000 + (RealDate.now() - begun); // 2026-01-01 09:00 UTC
  const FixedDate = new Proxy(RealDate, {
    construct: (target, args, self) => Reflect.construct(target, args.length ? args : [now()], self),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
  });
  define(RealDate.prototype, "constructor", FixedDate);
  define(globalThis, "Date", FixedDate);
  const { get: formatOf } = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, "format");
  Object.defineProperty(Intl.DateTimeFormat.prototype, "format", {
    configurable: true,
    get() {
      const format = formatOf.call(this);
      return (date) => format(date === undefined ? now() : date);
    },
  });
  define(performance, "now", () => RealDate.now() - begun);
  // Frames come with that clock, however fast the machine draws: what runs frame after frame gets as far every time.
  const later = globalThis.setTimeout.bind(globalThis);
  const nextFrame = (callback) => {
    const passed = performance.now();
    const next = passed - (passed % 16) + 16;
    return later(() => callback(next), next - passed);
  };
  define(globalThis, "requestAnimationFrame", nextFrame);
  define(globalThis, "cancelAnimationFrame", globalThis.clearTimeout.bind(globalThis));

  // Whether an element is in view is looked up by that clock, too: the browser tells it when it draws, and so too late.
  const observers = new Set();
  let looking = false;
  const lookAround = () => {
    for (const observer of observers) observer.look();
    looking = observers.size > 0;
    if (looking) later(lookAround, 96);
  };
  const pixels = (text, size) => (text.endsWith("%") ? (parseFloat(text) / 100) * size : parseFloat(text) || 0);
  class IntersectionObserver {
    #callback;
    #targets = new Map(); // element -> what was last told of it
    #entries = [];
    constructor(callback, { root = null, rootMargin = "0px", threshold = 0 } = {}) {
      this.#callback = callback;
      this.root = root;
      this.rootMargin = rootMargin;
      this.thresholds = [threshold].flat().sort((a, b) => a - b);
    }
    observe(target) {
      if (!(target instanceof Element)) throw new TypeError("parameter 1 is not of type 'Element'.");
      if (!this.#targets.has(target)) this.#targets.set(target, "");
      observers.add(this);
      if (!looking) later(lookAround, 0);
      looking = true;
    }
    unobserve(target) {
      this.#targets.delete(target);
      if (this.#targets.size === 0) observers.delete(this);
    }
    disconnect() {
      this.#targets.clear();
      observers.delete(this);
    }
    takeRecords() {
      return this.#entries.splice(0);
    }
    #bounds() {
      const box = this.root instanceof Element ? this.root.getBoundingClientRect() : new DOMRect(0, 0, innerWidth, innerHeight);
      const [top, right = top, bottom = top, left = right] = this.rootMargin.trim().split(/\s+/);
      const [x, y] = [pixels(left, box.width), pixels(top, box.height)];
      const width = box.width + x + pixels(right, box.width);
      return new DOMRect(box.x - x, box.y - y, width, box.height + y + pixels(bottom, box.height));
    }
    look() {
      const rootBounds = this.#bounds();
      for (const [target, last] of this.#targets) {
        const box = target.getBoundingClientRect();
        const [left, top] = [Math.max(box.left, rootBounds.left), Math.max(box.top, rootBounds.top)];
        const [right, bottom] = [Math.min(box.right, rootBounds.right), Math.min(box.bottom, rootBounds.bottom)];
        const isIntersecting = left <= right && top <= bottom && target.getClientRects().length > 0;
        const intersectionRect = isIntersecting ? new DOMRect(left, top, right - left, bottom - top) : new DOMRect();
        const area = box.width * box.height;
        const share = (intersectionRect.width * intersectionRect.height) / area;
        const intersectionRatio = area > 0 ? share : Number(isIntersecting);
        const state = `${isIntersecting} ${this.thresholds.filter((each) => each <= intersectionRatio).length}`;
        if (state === last) continue;
        this.#targets.set(target, state);
        const time = performance.now();
        this.#entries.push({ target, isIntersecting, intersectionRatio, boundingClientRect: box, intersectionRect, rootBounds, time });
      }
      if (this.#entries.length) this.#callback(this.takeRecords(), this);
    }
  }
  define(globalThis, "IntersectionObserver", IntersectionObserver);
  let state = 0x2f6e2b1;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  define(Math, "random", random);
  define(crypto, "getRandomValues", (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = random() * 256;
    return array;
  });
  const hex = (digits) => Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");
  define(crypto, "randomUUID", () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`);

  // What a page on an ordinary web site has, and this one hasn't.
  const storage = () => {
    const items = new Map();
    const methods = {
      getItem: (key) => items.get(String(key)) ?? null,
      setItem: (key, value) => void items.set(String(key), String(value)),
      removeItem: (key) => void items.delete(String(key)),
      clear: () => items.clear(),
      key: (index) => [...items.keys()][index] ?? null,
    };
    return new Proxy(methods, {
      get: (target, key) => (key === "length" ? items.size : key in target ? target[key] : items.get(key)),
      set: (target, key, value) => (items.set(String(key), String(value)), true),
      deleteProperty: (target, key) => (items.delete(key), true),
      has: (target, key) => key in target || items.has(key),
      ownKeys: () => [...items.keys()],
      getOwnPropertyDescriptor: (target, key) =>
        items.has(key) ? { value: items.get(key), configurable: true, enumerable: true, writable: true } : undefined,
    });
  };
  define(globalThis, "localStorage", storage());
  define(globalThis, "sessionStorage", storage());
  let cookies = "";
  Object.defineProperty(document, "cookie", {
    configurable: true,
    get: () => cookies,
    set: (text) => {
      const [pair] = String(text).split(";");
      cookies = cookies ? `${cookies}; ${pair}` : pair;
    },
  });
  let clip = "";
  const clipboard = { writeText: async (text) => void (clip = String(text)), readText: async () => clip };
  define(navigator, "clipboard", clipboard);
  for (const name of ["pushState", "replaceState"]) define(history, name, () => {});

  // Nothing opens, asks or prints.
  define(globalThis, "open", () => null);
  define(globalThis, "alert", () => {});
  define(globalThis, "confirm", () => false);
  define(globalThis, "prompt", () => null);
  define(globalThis, "print", () => {});
  define(globalThis, "close", () => {});
  for (const name of Object.keys(console)) if (typeof console[name] === "function") define(console, name, () => {});
  try {
    globalThis.name = "";
  } catch {}
  if (!modules || globalThis !== globalThis.top) return;

  // React reports what it cannot recover from to us; a component's own handler still hears of it.
  const dom = modules["react-dom/client"];
  const throwLater = globalThis.reportError.bind(globalThis);
  const watched = (options) => ({
    ...options,
    onUncaughtError: (error, info) => {
      report("uncaught");
      (options?.onUncaughtError ?? throwLater)(error, info);
    },
  });
  const registry = {
    ...modules,
    "react-dom/client": {
      ...dom,
      createRoot: (container, options) => dom.createRoot(container, watched(options)),
      hydrateRoot: (container, element, options) => dom.hydrateRoot(container, element, watched(options)),
    },
  };
  registry["react-dom/client"].default = registry["react-dom/client"];
  const { createElement, isValidElement } = modules.react;
  const componentLike = (value) => typeof value === "function" || (typeof value === "object" && value !== null && "$$typeof" in value);
  const find = (name) => {
    if (Object.hasOwn(registry, name)) return registry[name];
    throw new Error(`Cannot find module '${name}'`);
  };

  define(globalThis, "$$name", (factory) => {
    delete globalThis["$$name"];
    hear(); // filling the page has taken the listeners away
    const module = { exports: {} };
    const value = factory(find, module, module.exports)();
    if (value === null) return;
    if (isValidElement(value)) throw new TypeError("The default export is an element, not a component.");
    if (!componentLike(value)) throw new TypeError(`The default export is not a component but ${typeof value}.`);
    registry["react-dom/client"].createRoot(document.getElementById("root")).render(createElement(value));
  });
  define(globalThis, "$$name+", (bundle) => {
    globalThis.$$modules = registry;
    bundle();
    delete globalThis.$$modules;
  });
})();
