import { createContext, useContext, useId } from "react";
import { Pressable, moveFocus, useControlled } from "./parts.jsx";
import { cn } from "./utils.js";

const Group = createContext(null);

export function Tabs({ value, defaultValue, onValueChange, orientation, activationMode, className, ...props }) {
  const [state, setState] = useControlled(value, defaultValue, onValueChange);
  return (
    <Group.Provider value={{ state, setState, id: useId() }}>
      <div data-slot="tabs" className={cn("flex flex-col gap-2", className)} {...props} />
    </Group.Provider>
  );
}

export function TabsList({ className, ...props }) {
  return (
    <div
      role="tablist"
      data-slot="tabs-list"
      onKeyDown={(event) => moveFocus(event, "[role=tab]:not(:disabled)")?.click()}
      className={cn(
        "inline-flex h-9 w-fit items-center justify-center rounded-lg bg-muted p-[3px] text-muted-foreground",
        className,
      )}
      {...props}
    />
  );
}

export function TabsTrigger({ value, className, ...props }) {
  const { state, setState, id } = useContext(Group);
  const active = state === value;
  return (
    <Pressable
      role="tab"
      id={`${id}-tab-${value}`}
      aria-selected={active}
      aria-controls={`${id}-panel-${value}`}
      tabIndex={active ? 0 : -1}
      data-slot="tabs-trigger"
      data-state={active ? "active" : "inactive"}
      className={cn(
        "inline-flex h-full flex-1 items-center justify-center gap-1.5 rounded-md border border-transparent px-2 py-1 text-sm font-medium whitespace-nowrap outline-none",
        "focus-visible:ring-2 focus-visible:ring-ring disabled:pointer-events-none disabled:opacity-50",
        "data-[state=active]:bg-background data-[state=active]:text-foreground data-[state=active]:shadow-sm [&_svg:not([class*='size-'])]:size-4",
        className,
      )}
      {...props}
      press={() => setState(value)}
    />
  );
}

export function TabsContent({ value, forceMount, className, ...props }) {
  const { state, id } = useContext(Group);
  if (state !== value && !forceMount) return null;
  return (
    <div
      role="tabpanel"
      id={`${id}-panel-${value}`}
      aria-labelledby={`${id}-tab-${value}`}
      tabIndex={0}
      hidden={state !== value}
      data-slot="tabs-content"
      data-state={state === value ? "active" : "inactive"}
      className={cn("flex-1 outline-none", className)}
      {...props}
    />
  );
}
