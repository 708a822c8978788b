import { cn } from "./utils.js";

export function ScrollArea({ className, children, type, scrollHideDelay, ...props }) {
  return (
    <div data-slot="scroll-area" className={cn("relative overflow-auto", className)} {...props}>
      {children}
    </div>
  );
}

export const ScrollBar = () => null;
