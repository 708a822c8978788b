import { cva } from "class-variance-authority";
import { Pressable, useControlled } from "./parts.jsx";
import { cn } from "./utils.js";

export const toggleVariants = cva(
  "inline-flex items-center justify-center gap-2 rounded-md text-sm font-medium whitespace-nowrap outline-none hover:bg-muted hover:text-muted-foreground focus-visible:ring-2 focus-visible:ring-ring disabled:pointer-events-none disabled:opacity-50 data-[state=on]:bg-accent data-[state=on]:text-accent-foreground [&_svg]:shrink-0 [&_svg:not([class*='size-'])]:size-4",
  {
    variants: {
      variant: { default: "bg-transparent", outline: "border border-input bg-transparent shadow-xs" },
      size: { default: "h-9 min-w-9 px-2", sm: "h-8 min-w-8 px-1.5", lg: "h-10 min-w-10 px-2.5" },
    },
    defaultVariants: { variant: "default", size: "default" },
  },
);

export function Toggle({ pressed, defaultPressed = false, onPressedChange, variant, size, className, ...props }) {
  const [state, setState] = useControlled(pressed, defaultPressed, onPressedChange);
  return (
    <Pressable
      aria-pressed={state}
      data-slot="toggle"
      data-state={state ? "on" : "off"}
      className={cn(toggleVariants({ variant, size }), className)}
      {...props}
      press={() => setState(!state)}
    />
  );
}
