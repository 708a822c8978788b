import { cva } from "class-variance-authority";
import { box } from "./parts.jsx";
import { cn } from "./utils.js";

const alertVariants = cva(
  "relative grid w-full grid-cols-1 items-start gap-y-0.5 rounded-lg border px-4 py-3 text-sm has-[>svg]:grid-cols-[1rem_1fr] has-[>svg]:gap-x-3 [&>svg]:size-4 [&>svg]:translate-y-0.5 [&>svg]:text-current [&>svg~*]:col-start-2",
  {
    variants: { variant: { default: "bg-card text-card-foreground", destructive: "bg-card text-destructive" } },
    defaultVariants: { variant: "default" },
  },
);

export function Alert({ className, variant, ...props }) {
  return <div data-slot="alert" role="alert" className={cn(alertVariants({ variant }), className)} {...props} />;
}

export const AlertTitle = box("div", "alert-title", "min-h-4 font-medium tracking-tight");
export const AlertDescription = box(
  "div",
  "alert-description",
  "grid justify-items-start gap-1 text-sm text-muted-foreground [&_p]:leading-relaxed",
);
