import { cn } from "./utils.js";

export function Progress({ value, max = 100, className, ...props }) {
  const share = Math.min(Math.max((value ?? 0) / max, 0), 1) * 100;
  return (
    <div
      role="progressbar"
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={value ?? undefined}
      data-slot="progress"
      className={cn("relative h-2 w-full overflow-hidden rounded-full bg-primary/20", className)}
      {...props}
    >
      <div className="h-full w-full flex-1 bg-primary" style={{ transform: `translateX(-${100 - share}%)` }} />
    </div>
  );
}
