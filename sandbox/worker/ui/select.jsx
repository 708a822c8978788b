import { createContext, useContext, useEffect, useId, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { Floating, Mark, Pressable, box, moveFocus, useControlled, useDismiss } from "./parts.jsx";
import { cn } from "./utils.js";

const Group = createContext(null);

export function Select({
  value,
  defaultValue,
  onValueChange,
  open,
  defaultOpen = false,
  onOpenChange,
  name,
  disabled,
  children,
}) {
  const [state, setState] = useControlled(value, defaultValue, onValueChange);
  const [isOpen, setOpen] = useControlled(open, defaultOpen, onOpenChange);
  const [labels, setLabels] = useState({}); // what stands in each item: the chosen one shows in the trigger
  const group = {
    state,
    setState,
    open: isOpen,
    setOpen,
    labels,
    setLabels,
    disabled,
    trigger: useRef(null),
    id: useId(),
  };
  return (
    <Group.Provider value={group}>
      {children}
      {name && state !== undefined && <input type="hidden" name={name} value={state} />}
    </Group.Provider>
  );
}

export function SelectTrigger({ className, size = "default", children, disabled, ...props }) {
  const { open, setOpen, trigger, id, disabled: all } = useContext(Group);
  return (
    <Pressable
      ref={trigger}
      role="combobox"
      aria-expanded={open}
      aria-controls={id}
      aria-haspopup="listbox"
      disabled={disabled || all}
      data-slot="select-trigger"
      data-size={size}
      data-state={open ? "open" : "closed"}
      onKeyDown={(event) => /^Arrow(Up|Down)$/.test(event.key) && setOpen(true)}
      className={cn(
        "flex w-fit items-center justify-between gap-2 rounded-md border border-input bg-transparent px-3 py-2 text-sm whitespace-nowrap shadow-xs outline-none",
        "focus-visible:border-ring focus-visible:ring-2 focus-visible:ring-ring/50 disabled:cursor-not-allowed disabled:opacity-50",
        "data-[size=default]:h-9 data-[size=sm]:h-8",
        className,
      )}
      {...props}
      press={() => setOpen(!open)}
    >
      {children}
      <Mark name="down" className="opacity-50" />
    </Pressable>
  );
}

export function SelectValue({ placeholder, children, className }) {
  const { state, labels } = useContext(Group);
  const chosen = state !== undefined && state !== "";
  return (
    <span data-slot="select-value" className={cn("line-clamp-1", !chosen && "text-muted-foreground", className)}>
      {chosen ? (children ?? labels[state] ?? state) : placeholder}
    </span>
  );
}

// Closed, the items are still there, unseen: they are what tells the trigger its text.
export function SelectContent({ className, position, ...props }) {
  const { open, setOpen, trigger, id } = useContext(Group);
  const own = useRef(null);
  useDismiss(open, () => setOpen(false), [own, trigger]);
  useEffect(() => {
    if (open)
      (own.current.querySelector("[aria-selected=true]") ?? own.current.querySelector("[role=option]"))?.focus();
  }, [open]);
  if (!open) return createPortal(<div hidden>{props.children}</div>, document.body);
  return (
    <Floating
      anchor={trigger}
      ref={own}
      id={id}
      role="listbox"
      data-layer=""
      align="start"
      data-slot="select-content"
      data-state="open"
      onKeyDown={(event) => moveFocus(event, "[role=option]:not([aria-disabled=true])", "vertical")}
      style={{ minWidth: trigger.current?.offsetWidth }}
      className={cn(
        "z-50 max-h-96 min-w-32 overflow-x-hidden overflow-y-auto rounded-md border bg-popover p-1 text-popover-foreground shadow-md",
        className,
      )}
      {...props}
    />
  );
}

export function SelectItem({ value, disabled, textValue, className, children, ...props }) {
  const { state, setState, setOpen, setLabels } = useContext(Group);
  const chosen = state === value;
  const isText = typeof children === "string" || typeof children === "number";
  const label = isText ? children : undefined;
  const element = useRef(children);
  element.current = children;
  useEffect(() => {
    setLabels((labels) =>
      label !== undefined && labels[value] === label ? labels : { ...labels, [value]: element.current },
    );
  }, [value, label, setLabels]);
  const choose = () => {
    setState(value);
    setOpen(false);
  };
  return (
    <div
      role="option"
      aria-selected={chosen}
      aria-disabled={disabled || undefined}
      tabIndex={-1}
      data-slot="select-item"
      data-state={chosen ? "checked" : "unchecked"}
      onClick={disabled ? undefined : choose}
      onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && !disabled && choose()}
      className={cn(
        "relative flex w-full cursor-default items-center gap-2 rounded-sm py-1.5 pr-8 pl-2 text-sm outline-none select-none",
        "hover:bg-accent hover:text-accent-foreground focus:bg-accent focus:text-accent-foreground",
        "aria-disabled:pointer-events-none aria-disabled:opacity-50",
        className,
      )}
      {...props}
    >
      <span>{children}</span>
      {chosen && <Mark name="check" className="absolute right-2" />}
    </div>
  );
}

export const SelectGroup = box("div", "select-group", "", { role: "group" });
export const SelectLabel = box("div", "select-label", "px-2 py-1.5 text-xs text-muted-foreground");
export const SelectSeparator = box("div", "select-separator", "-mx-1 my-1 h-px bg-border");
export const SelectScrollUpButton = () => null;
export const SelectScrollDownButton = () => null;
