import { Pressable, useControlled } from "./parts.jsx";
import { cn } from "./utils.js";

export function Switch({ checked, defaultChecked = false, onCheckedChange, name, value = "on", className, ...props }) {
  const [state, setState] = useControlled(checked, defaultChecked, onCheckedChange);
  return (
    <>
      <Pressable
        role="switch"
        aria-checked={Boolean(state)}
        data-slot="switch"
        data-state={state ? "checked" : "unchecked"}
        className={cn(
          "inline-flex h-5 w-9 shrink-0 items-center rounded-full border border-transparent bg-input shadow-xs outline-none",
          "focus-visible:ring-2 focus-visible:ring-ring disabled:cursor-not-allowed disabled:opacity-50",
          "data-[state=checked]:bg-primary",
          className,
        )}
        {...props}
        press={() => setState(!state)}
      >
        <span
          className={cn(
            "pointer-events-none block size-4 rounded-full bg-background",
            state ? "translate-x-4" : "translate-x-0.5",
          )}
        />
      </Pressable>
      {name && state && <input type="hidden" name={name} value={value} />}
    </>
  );
}
