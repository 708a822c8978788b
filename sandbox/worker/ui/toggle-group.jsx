import { createContext, useContext } from "react";
import { Pressable, moveFocus, useControlled } from "./parts.jsx";
import { toggleVariants } from "./toggle.jsx";
import { cn } from "./utils.js";

const Group = createContext(null);

export function ToggleGroup({
  type = "single",
  value,
  defaultValue,
  onValueChange,
  variant,
  size,
  disabled,
  className,
  ...props
}) {
  const many = type === "multiple";
  const [state, setState] = useControlled(value, defaultValue ?? (many ? [] : ""), onValueChange);
  const isOn = (item) => (many ? state.includes(item) : state === item);
  const toggle = (item) => {
    if (many) setState(isOn(item) ? state.filter((each) => each !== item) : [...state, item]);
    else setState(isOn(item) ? "" : item);
  };
  return (
    <Group.Provider value={{ many, isOn, toggle, variant, size, disabled }}>
      <div
        role={many ? "group" : "radiogroup"}
        data-slot="toggle-group"
        onKeyDown={(event) => moveFocus(event, "button:not(:disabled)")}
        className={cn("flex w-fit items-center rounded-md", variant === "outline" && "shadow-xs", className)}
        {...props}
      />
    </Group.Provider>
  );
}

export function ToggleGroupItem({ value, variant, size, disabled, className, ...props }) {
  const group = useContext(Group);
  const on = group.isOn(value);
  const state = group.many ? { "aria-pressed": on } : { role: "radio", "aria-checked": on };
  return (
    <Pressable
      {...state}
      disabled={disabled || group.disabled}
      data-slot="toggle-group-item"
      data-state={on ? "on" : "off"}
      className={cn(toggleVariants({ variant: group.variant ?? variant, size: group.size ?? size }), className)}
      {...props}
      press={() => group.toggle(value)}
    />
  );
}
