import { cva } from "class-variance-authority";
import { Slot } from "./parts.jsx";
import { cn } from "./utils.js";

export const badgeVariants = cva(
  "inline-flex w-fit shrink-0 items-center justify-center gap-1 overflow-hidden rounded-full border px-2 py-0.5 text-xs font-medium whitespace-nowrap [&>svg]:size-3",
  {
    variants: {
      variant: {
        default: "border-transparent bg-primary text-primary-foreground",
        secondary: "border-transparent bg-secondary text-secondary-foreground",
        destructive: "border-transparent bg-destructive text-white",
        outline: "text-foreground",
        ghost: "border-transparent",
        link: "border-transparent text-primary underline-offset-4",
      },
    },
    defaultVariants: { variant: "default" },
  },
);

export function Badge({ className, variant, asChild, ...props }) {
  const Tag = asChild ? Slot : "span";
  return <Tag data-slot="badge" className={cn(badgeVariants({ variant }), className)} {...props} />;
}
