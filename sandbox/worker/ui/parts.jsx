// What our stand-ins for shadcn's components share.  They have its names and props, and none of its dependencies.
import { Children, cloneElement, useEffect, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { cn } from "./utils.js";

/** A component that is nothing but an element with classes. */
export function box(Tag, slot, classes, defaults) {
  return ({ className, ...props }) => (
    <Tag data-slot={slot} className={cn(classes, className) || undefined} {...defaults} {...props} />
  );
}

/** State that its owner holds when `value` is given, and that is held here otherwise. */
export function useControlled(value, initial, onChange) {
  const [own, setOwn] = useState(initial);
  const set = (next) => {
    if (value === undefined) setOwn(next);
    onChange?.(next);
  };
  return [value === undefined ? own : value, set];
}

const both = (first, second) =>
  first && second
    ? (event) => {
        first(event);
        if (!event?.defaultPrevented) second(event);
      }
    : (first ?? second);

const bothRefs = (first, second) => (node) => {
  for (const ref of [first, second]) {
    if (typeof ref === "function") ref(node);
    else if (ref) ref.current = node;
  }
};

/** The one child, with these props added to its own (`asChild`). */
export function Slot({ children, ref, ...props }) {
  const child = Children.only(children);
  const merged = { ...props, ...child.props, className: cn(props.className, child.props.className) || undefined };
  for (const name of Object.keys(props)) {
    if (/^on[A-Z]/.test(name)) merged[name] = both(child.props[name], props[name]);
  }
  if (props.style) merged.style = { ...props.style, ...child.props.style };
  if (ref) merged.ref = bothRefs(child.props.ref, ref);
  return cloneElement(child, merged);
}

/** A button, or with `asChild` the child in its place. */
export function Pressable({ asChild, onClick, press, ...props }) {
  const Tag = asChild ? Slot : "button";
  return <Tag {...(asChild ? {} : { type: "button" })} {...props} onClick={both(onClick, press)} />;
}

/** Calls `close` on Escape, and on a press outside all of `refs`; the first is the layer, marked with `data-layer`. */
export function useDismiss(open, close, refs) {
  useEffect(() => {
    if (!open) return undefined;
    const isTop = () => [...document.querySelectorAll("[data-layer]")].at(-1) === refs[0].current;
    const onKey = (event) => event.key === "Escape" && isTop() && close();
    const onPress = ({ target }) => isTop() && !refs.some((ref) => ref.current?.contains(target)) && close();
    document.addEventListener("keydown", onKey);
    document.addEventListener("pointerdown", onPress);
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("pointerdown", onPress);
    };
  });
}

const ACROSS = { top: "left", bottom: "left", left: "top", right: "top" };

/** A layer on top of the page, beside the element in `anchor`. */
export function Floating({ anchor, ref, side = "bottom", align = "center", sideOffset = 4, style, ...props }) {
  const own = useRef(null);
  const [place, setPlace] = useState({ top: 0, left: 0 });
  useLayoutEffect(() => {
    const at = anchor.current?.getBoundingClientRect();
    if (!at) return;
    const { width, height } = own.current.getBoundingClientRect();
    const put = {
      top: { top: at.top - height - sideOffset },
      bottom: { top: at.bottom + sideOffset },
      left: { left: at.left - width - sideOffset },
      right: { left: at.right + sideOffset },
    }[side];
    const [begin, room] = ACROSS[side] === "left" ? [at.left, at.width - width] : [at.top, at.height - height];
    put[ACROSS[side]] = begin + { start: 0, center: room / 2, end: room }[align];
    if (side === "bottom" && put.top + height > innerHeight && at.top - height - sideOffset > 0)
      put.top = at.top - height - sideOffset;
    setPlace({
      top: Math.max(put.top + scrollY, 0),
      left: Math.max(Math.min(put.left, innerWidth - width) + scrollX, 0),
    });
  }, [anchor, side, align, sideOffset]);
  return createPortal(
    <div ref={bothRefs(own, ref)} style={{ position: "absolute", ...place, ...style }} data-side={side} {...props} />,
    document.body,
  );
}

/** Moves the focus among the elements that `selector` finds in the event's own element, with the arrow keys. */
export function moveFocus(event, selector, axis = "both") {
  const steps = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };
  const across = /Left|Right/.test(event.key);
  if (!(event.key in steps) || (axis === "vertical" && across) || (axis === "horizontal" && !across)) return undefined;
  const all = [...event.currentTarget.querySelectorAll(selector)];
  const next = all.at((all.indexOf(document.activeElement) + steps[event.key] + all.length) % all.length);
  event.preventDefault();
  next?.focus();
  return next;
}

const PATHS = {
  check: "M20 6 9 17l-5-5",
  down: "m6 9 6 6 6-6",
  left: "m15 18-6-6 6-6",
  right: "m9 18 6-6-6-6",
  close: "M18 6 6 18M6 6l12 12",
  dots: "M5 12h.01M12 12h.01M19 12h.01",
  minus: "M5 12h14",
};

export function Mark({ name, className }) {
  return (
    <svg
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={cn("size-4 shrink-0", className)}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
