import { Mark, Pressable, useControlled } from "./parts.jsx";
import { cn } from "./utils.js";

export function Checkbox({
  checked,
  defaultChecked = false,
  onCheckedChange,
  name,
  value = "on",
  className,
  ...props
}) {
  const [state, setState] = useControlled(checked, defaultChecked, onCheckedChange);
  const mixed = state === "indeterminate";
  return (
    <>
      <Pressable
        role="checkbox"
        aria-checked={mixed ? "mixed" : Boolean(state)}
        data-slot="checkbox"
        data-state={mixed ? "indeterminate" : state ? "checked" : "unchecked"}
        className={cn(
          "flex size-4 shrink-0 items-center justify-center rounded-[4px] border border-input shadow-xs outline-none",
          "focus-visible:ring-2 focus-visible:ring-ring disabled:cursor-not-allowed disabled:opacity-50",
          "data-[state=checked]:border-primary data-[state=checked]:bg-primary data-[state=checked]:text-primary-foreground",
          className,
        )}
        {...props}
        press={() => setState(mixed ? true : !state)}
      >
        {state && <Mark name={mixed ? "minus" : "check"} className="size-3.5" />}
      </Pressable>
      {name && state === true && <input type="hidden" name={name} value={value} />}
    </>
  );
}
