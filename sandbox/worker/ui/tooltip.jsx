import { Hint, HintRoot, HintTrigger } from "./hint.jsx";
import { cn } from "./utils.js";

export const TooltipProvider = ({ children }) => children;
export const Tooltip = HintRoot;
export const TooltipTrigger = (props) => <HintTrigger described {...props} />;

export function TooltipContent({ className, side = "top", ...props }) {
  return (
    <Hint
      role="tooltip"
      side={side}
      data-slot="tooltip-content"
      className={cn("z-50 w-fit rounded-md bg-primary px-3 py-1.5 text-xs text-primary-foreground", className)}
      {...props}
    />
  );
}
