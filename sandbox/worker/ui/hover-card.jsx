import { Hint, HintRoot, HintTrigger } from "./hint.jsx";
import { cn } from "./utils.js";

export const HoverCard = HintRoot;
export const HoverCardTrigger = HintTrigger;

export function HoverCardContent({ className, ...props }) {
  return (
    <Hint
      data-slot="hover-card-content"
      className={cn("z-50 w-64 rounded-md border bg-popover p-4 text-popover-foreground shadow-md", className)}
      {...props}
    />
  );
}
