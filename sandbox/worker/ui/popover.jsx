import { createContext, useContext, useId, useRef } from "react";
import { Floating, Pressable, Slot, useControlled, useDismiss } from "./parts.jsx";
import { cn } from "./utils.js";

const Group = createContext(null);

export function Popover({ open, defaultOpen = false, onOpenChange, children }) {
  const [isOpen, setOpen] = useControlled(open, defaultOpen, onOpenChange);
  const value = { open: isOpen, setOpen, trigger: useRef(null), anchor: useRef(null), id: useId() };
  return <Group.Provider value={value}>{children}</Group.Provider>;
}

export function PopoverTrigger(props) {
  const { open, setOpen, trigger, id } = useContext(Group);
  const state = open ? "open" : "closed";
  return (
    <Pressable
      ref={trigger}
      aria-haspopup="dialog"
      aria-expanded={open}
      aria-controls={id}
      data-state={state}
      {...props}
      press={() => setOpen(!open)}
    />
  );
}

export function PopoverAnchor({ asChild, ...props }) {
  const Tag = asChild ? Slot : "div";
  return <Tag ref={useContext(Group).anchor} {...props} />;
}

export function PopoverContent(props) {
  return useContext(Group).open ? <OpenPopover {...props} /> : null;
}

function OpenPopover({ className, ...props }) {
  const { setOpen, trigger, anchor, id } = useContext(Group);
  const own = useRef(null);
  useDismiss(true, () => setOpen(false), [own, trigger]);
  return (
    <Floating
      anchor={anchor.current ? anchor : trigger}
      ref={own}
      id={id}
      role="dialog"
      data-layer=""
      data-slot="popover-content"
      data-state="open"
      className={cn(
        "z-50 w-72 rounded-md border bg-popover p-4 text-popover-foreground shadow-md outline-none",
        className,
      )}
      {...props}
    />
  );
}
