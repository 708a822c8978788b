// What the page judge measures on a mounted page. Evaluated in a JavaScript world of our own, in which axe-core ran
// before the component did. What the page calls its elements cannot hide the built-ins used here.
(async () => {
  const RULES = {
    contrast: ["color-contrast"],
    names: [
      "label", "select-name", "button-name", "input-button-name", "link-name", "image-alt", "role-img-alt", "svg-img-alt",
      "aria-roles", "aria-allowed-attr", "aria-required-attr", "aria-valid-attr", "aria-valid-attr-value",
      "aria-command-name", "aria-input-field-name", "aria-toggle-field-name", "aria-hidden-focus", "nested-interactive",
    ],
  };
  const MOST = 5; // examples of a kind
  const getter = (of, name) => Object.getOwnPropertyDescriptor(of.prototype, name).get;
  const root = getter(Document, "documentElement").call(document);
  const widthOf = getter(Element, "scrollWidth");
  const parentOf = getter(Node, "parentElement");
  const boxOf = Element.prototype.getBoundingClientRect;
  const textOf = getter(Node, "textContent");

  const named = (element) => {
    const tag = getter(Element, "tagName").call(element).toLowerCase();
    const words = textOf.call(element) || Element.prototype.getAttribute.call(element, "placeholder") || "";
    const text = words.trim().replace(/\s+/g, " ");
    const shown = text.length > 40 ? `${text.slice(0, 39)}…` : text;
    return shown ? `${tag} "${shown}"` : tag;
  };

  // Contrast and names: axe-core.
  const found = await axe.run(document, {
    runOnly: { type: "rule", values: Object.values(RULES).flat() },
    preload: false,
    iframes: false,
    selectors: false,
    elementRef: true,
  });
  const nodesOf = (kind, rules) =>
    found[kind].filter(({ id }) => rules.includes(id)).flatMap(({ id, help, nodes }) => nodes.map((node) => ({ id, help, ...node })));
  const problem = ({ id, help, element, any }) => {
    const ratio = any[0]?.data;
    const what = id === "color-contrast" && ratio ? `${ratio.contrastRatio}:1, wanted ${ratio.expectedContrastRatio}` : help;
    return `${named(element)}: ${what}`;
  };
  const elementsOf = (kind, rules) => new Set(nodesOf(kind, rules).map(({ element }) => element));
  const checked = (rules) => {
    const bad = new Map(nodesOf("violations", rules).map((node) => [node.element, node])); // one fault an element
    return {
      good: [...elementsOf("passes", rules)].filter((element) => !bad.has(element)).length,
      bad: bad.size,
      unknown: elementsOf("incomplete", rules).size,
      examples: [...bad.values()].slice(0, MOST).map(problem),
    };
  };

  // Cut off: what can be read or used, and crosses an edge beyond which nobody can scroll.
  const USED = "a, button, input, select, textarea, summary, img, svg, canvas, video";
  const hasText = (element) => [...getter(Node, "childNodes").call(element)].some((n) => n.nodeType === 3 && n.data.trim());
  const visiblePart = (element) => {
    let { left, top, right, bottom } = boxOf.call(element);
    let fixed = false;
    for (let at = element; at; at = parentOf.call(at)) {
      const style = getComputedStyle(at);
      if (at !== element && at !== root && style.overflowX !== "visible" && getter(Element, "tagName").call(at) !== "BODY") {
        const box = boxOf.call(at);
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
        [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      }
      if (style.position === "fixed") {
        fixed = true;
        break;
      }
    }
    return { left, top, right, bottom, fixed };
  };
  const scrolls = widthOf.call(root) > innerWidth;
  const isCut = ({ left, top, right, bottom, fixed }) => {
    if (right - left < 2 || bottom - top < 2) return false; // for screen readers only, or scrolled away inside a box
    const across = (low, high, edge) => low < edge - 1 && high > edge + 1;
    const inside = right > 0 && bottom > 0 && left < innerWidth && (!fixed || top < innerHeight);
    if (!inside) return false; // put out of sight as a whole, on purpose: a skip link, a drawer
    const beyond = (!scrolls || fixed) && across(left, right, innerWidth);
    return beyond || across(left, right, 0) || across(top, bottom, 0) || (fixed && across(top, bottom, innerHeight));
  };
  let shown = 0;
  const cut = [];
  for (const element of Document.prototype.querySelectorAll.call(document, "body *")) {
    if (!(Element.prototype.matches.call(element, USED) || hasText(element))) continue;
    if (!Element.prototype.checkVisibility.call(element, { opacityProperty: true, visibilityProperty: true })) continue;
    shown++;
    if (isCut(visiblePart(element))) cut.push(element);
  }
  return {
    contrast: checked(RULES.contrast),
    names: checked(RULES.names),
    width: widthOf.call(root),
    shown,
    cut: { count: cut.length, examples: cut.slice(0, MOST).map(named) },
  };
})()
