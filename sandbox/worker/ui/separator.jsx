import { cn } from "./utils.js";

export function Separator({ orientation = "horizontal", decorative = true, className, ...props }) {
  const size = orientation === "vertical" ? "h-full w-px self-stretch" : "h-px w-full";
  return (
    <div
      role={decorative ? "none" : "separator"}
      aria-orientation={decorative ? undefined : orientation}
      data-slot="separator"
      data-orientation={orientation}
      className={cn("shrink-0 bg-border", size, className)}
      {...props}
    />
  );
}
