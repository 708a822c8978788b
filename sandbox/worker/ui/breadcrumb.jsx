import { Mark, Slot, box } from "./parts.jsx";
import { cn } from "./utils.js";

export const Breadcrumb = box("nav", "breadcrumb", "", { "aria-label": "breadcrumb" });
export const BreadcrumbList = box(
  "ol",
  "breadcrumb-list",
  "flex flex-wrap items-center gap-1.5 text-sm break-words text-muted-foreground sm:gap-2.5",
);
export const BreadcrumbItem = box("li", "breadcrumb-item", "inline-flex items-center gap-1.5");
export const BreadcrumbPage = box("span", "breadcrumb-page", "font-normal text-foreground", { "aria-current": "page" });

export function BreadcrumbLink({ asChild, className, ...props }) {
  const Tag = asChild ? Slot : "a";
  return <Tag data-slot="breadcrumb-link" className={cn("hover:text-foreground", className)} {...props} />;
}

export function BreadcrumbSeparator({ children, className, ...props }) {
  return (
    <li role="presentation" aria-hidden="true" className={cn("[&>svg]:size-3.5", className)} {...props}>
      {children ?? <Mark name="right" />}
    </li>
  );
}

export function BreadcrumbEllipsis({ className, ...props }) {
  return (
    <span role="presentation" className={cn("flex size-9 items-center justify-center", className)} {...props}>
      <Mark name="dots" />
      <span className="sr-only">More</span>
    </span>
  );
}
