// What Tooltip and HoverCard have in common: a layer that is there while its trigger is pointed at or has the focus.
import { createContext, useContext, useId, useRef } from "react";
import { Floating, Pressable, useControlled } from "./parts.jsx";

const Group = createContext(null);

export function HintRoot({ open, defaultOpen = false, onOpenChange, children }) {
  const [isOpen, setOpen] = useControlled(open, defaultOpen, onOpenChange);
  return (
    <Group.Provider value={{ open: isOpen, setOpen, trigger: useRef(null), id: useId() }}>{children}</Group.Provider>
  );
}

export function HintTrigger({ described, ...props }) {
  const { open, setOpen, trigger, id } = useContext(Group);
  const show = () => setOpen(true);
  const hide = () => setOpen(false);
  return (
    <Pressable
      ref={trigger}
      aria-describedby={described && open ? id : undefined}
      data-state={open ? "open" : "closed"}
      onPointerEnter={show}
      onPointerLeave={hide}
      onFocus={show}
      onBlur={hide}
      {...props}
    />
  );
}

export function Hint(props) {
  const { open, trigger, id } = useContext(Group);
  return open ? <Floating anchor={trigger} id={id} data-state="open" {...props} /> : null;
}
