import { box } from "./parts.jsx";

export const Label = box(
  "label",
  "label",
  "flex items-center gap-2 text-sm leading-none font-medium select-none peer-disabled:cursor-not-allowed peer-disabled:opacity-50",
);
