import { buttonVariants } from "./button.jsx";
import { Mark, box } from "./parts.jsx";
import { cn } from "./utils.js";

export const Pagination = box("nav", "pagination", "mx-auto flex w-full justify-center", {
  "aria-label": "pagination",
});
export const PaginationContent = box("ul", "pagination-content", "flex flex-row items-center gap-1");
export const PaginationItem = box("li", "pagination-item", "");

export function PaginationLink({ className, isActive, size = "icon", ...props }) {
  const variant = isActive ? "outline" : "ghost";
  return (
    <a
      aria-current={isActive ? "page" : undefined}
      className={cn(buttonVariants({ variant, size }), className)}
      {...props}
    />
  );
}

export function PaginationPrevious(props) {
  return (
    <PaginationLink aria-label="Go to previous page" size="default" {...props}>
      <Mark name="left" />
      <span>Previous</span>
    </PaginationLink>
  );
}

export function PaginationNext(props) {
  return (
    <PaginationLink aria-label="Go to next page" size="default" {...props}>
      <span>Next</span>
      <Mark name="right" />
    </PaginationLink>
  );
}

export function PaginationEllipsis({ className, ...props }) {
  return (
    <span aria-hidden="true" className={cn("flex size-9 items-center justify-center", className)} {...props}>
      <Mark name="dots" />
    </span>
  );
}
