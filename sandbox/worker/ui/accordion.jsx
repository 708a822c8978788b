import { createContext, useContext, useId } from "react";
import { Mark, useControlled } from "./parts.jsx";
import { cn } from "./utils.js";

const Group = createContext(null);
const Entry = createContext(null);

export function Accordion({ type = "single", collapsible, value, defaultValue, onValueChange, className, ...props }) {
  const many = type === "multiple";
  const [state, setState] = useControlled(value, defaultValue ?? (many ? [] : ""), onValueChange);
  const isOpen = (item) => (many ? state.includes(item) : state === item);
  const toggle = (item) => {
    if (many) setState(isOpen(item) ? state.filter((each) => each !== item) : [...state, item]);
    else if (!isOpen(item) || collapsible) setState(isOpen(item) ? "" : item);
  };
  return (
    <Group.Provider value={{ isOpen, toggle }}>
      <div data-slot="accordion" className={className} {...props} />
    </Group.Provider>
  );
}

export function AccordionItem({ value, disabled, className, ...props }) {
  const { isOpen, toggle } = useContext(Group);
  const entry = { open: isOpen(value), toggle: () => toggle(value), disabled, id: useId() };
  return (
    <Entry.Provider value={entry}>
      <div
        data-slot="accordion-item"
        data-state={entry.open ? "open" : "closed"}
        className={cn("border-b last:border-b-0", className)}
        {...props}
      />
    </Entry.Provider>
  );
}

export function AccordionTrigger({ className, children, ...props }) {
  const { open, toggle, disabled, id } = useContext(Entry);
  return (
    <h3 className="flex">
      <button
        type="button"
        id={`${id}-trigger`}
        aria-expanded={open}
        aria-controls={`${id}-content`}
        disabled={disabled}
        data-slot="accordion-trigger"
        data-state={open ? "open" : "closed"}
        onClick={toggle}
        className={cn(
          "flex flex-1 items-start justify-between gap-4 rounded-md py-4 text-left text-sm font-medium",
          "outline-none hover:underline focus-visible:ring-2 focus-visible:ring-ring disabled:opacity-50",
          className,
        )}
        {...props}
      >
        {children}
        <Mark name="down" className={cn("mt-0.5 text-muted-foreground", open && "rotate-180")} />
      </button>
    </h3>
  );
}

export function AccordionContent({ className, children, ...props }) {
  const { open, id } = useContext(Entry);
  if (!open) return null;
  return (
    <div
      role="region"
      id={`${id}-content`}
      aria-labelledby={`${id}-trigger`}
      data-slot="accordion-content"
      data-state="open"
      className="overflow-hidden text-sm"
      {...props}
    >
      <div className={cn("pt-0 pb-4", className)}>{children}</div>
    </div>
  );
}
