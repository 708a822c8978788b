import { box } from "./parts.jsx";
import { cn } from "./utils.js";

export function Table({ className, ...props }) {
  return (
    <div data-slot="table-container" className="relative w-full overflow-x-auto">
      <table data-slot="table" className={cn("w-full caption-bottom text-sm", className)} {...props} />
    </div>
  );
}

export const TableHeader = box("thead", "table-header", "[&_tr]:border-b");
export const TableBody = box("tbody", "table-body", "[&_tr:last-child]:border-0");
export const TableFooter = box("tfoot", "table-footer", "border-t bg-muted/50 font-medium [&>tr]:last:border-b-0");
export const TableRow = box("tr", "table-row", "border-b hover:bg-muted/50 data-[state=selected]:bg-muted");
export const TableHead = box("th", "table-head", "h-10 px-2 text-left align-middle font-medium whitespace-nowrap");
export const TableCell = box("td", "table-cell", "p-2 align-middle whitespace-nowrap");
export const TableCaption = box("caption", "table-caption", "mt-4 text-sm text-muted-foreground");
