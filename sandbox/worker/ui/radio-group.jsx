import { createContext, useContext } from "react";
import { Pressable, moveFocus, useControlled } from "./parts.jsx";
import { cn } from "./utils.js";

const Group = createContext(null);

export function RadioGroup({ value, defaultValue, onValueChange, name, disabled, className, children, ...props }) {
  const [state, setState] = useControlled(value, defaultValue, onValueChange);
  return (
    <Group.Provider value={{ state, setState, disabled }}>
      <div
        role="radiogroup"
        data-slot="radio-group"
        onKeyDown={(event) => moveFocus(event, "[role=radio]:not(:disabled)")?.click()}
        className={cn("grid gap-3", className)}
        {...props}
      >
        {children}
        {name && state !== undefined && <input type="hidden" name={name} value={state} />}
      </div>
    </Group.Provider>
  );
}

export function RadioGroupItem({ value, disabled, className, ...props }) {
  const { state, setState, disabled: all } = useContext(Group);
  const checked = state === value;
  return (
    <Pressable
      role="radio"
      aria-checked={checked}
      disabled={disabled || all}
      data-slot="radio-group-item"
      data-state={checked ? "checked" : "unchecked"}
      className={cn(
        "flex aspect-square size-4 shrink-0 items-center justify-center rounded-full border border-input text-primary shadow-xs outline-none",
        "focus-visible:ring-2 focus-visible:ring-ring disabled:cursor-not-allowed disabled:opacity-50",
        className,
      )}
      {...props}
      press={() => setState(value)}
    >
      {checked && <span className="size-2 rounded-full bg-primary" />}
    </Pressable>
  );
}
