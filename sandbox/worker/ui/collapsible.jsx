import { createContext, useContext, useId } from "react";
import { Pressable, useControlled } from "./parts.jsx";

const Group = createContext(null);

export function Collapsible({ open, defaultOpen = false, onOpenChange, disabled, ...props }) {
  const [isOpen, setOpen] = useControlled(open, defaultOpen, onOpenChange);
  return (
    <Group.Provider value={{ open: isOpen, setOpen, disabled, id: useId() }}>
      <div data-slot="collapsible" data-state={isOpen ? "open" : "closed"} {...props} />
    </Group.Provider>
  );
}

export function CollapsibleTrigger(props) {
  const { open, setOpen, disabled, id } = useContext(Group);
  const state = open ? "open" : "closed";
  return (
    <Pressable
      aria-expanded={open}
      aria-controls={id}
      disabled={disabled}
      data-state={state}
      {...props}
      press={() => setOpen(!open)}
    />
  );
}

export function CollapsibleContent(props) {
  const { open, id } = useContext(Group);
  return open ? <div id={id} data-slot="collapsible-content" data-state="open" {...props} /> : null;
}
