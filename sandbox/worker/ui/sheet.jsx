import { ModalContent } from "./modal.jsx";
import { box } from "./parts.jsx";
import { cn } from "./utils.js";

export {
  ModalRoot as Sheet,
  ModalClose as SheetClose,
  ModalDescription as SheetDescription,
  ModalTitle as SheetTitle,
  ModalTrigger as SheetTrigger,
} from "./modal.jsx";

const SIDES = {
  right: "inset-y-0 right-0 h-full w-3/4 border-l sm:max-w-sm",
  left: "inset-y-0 left-0 h-full w-3/4 border-r sm:max-w-sm",
  top: "inset-x-0 top-0 h-auto border-b",
  bottom: "inset-x-0 bottom-0 h-auto border-t",
};

export function SheetContent({ className, side = "right", ...props }) {
  return (
    <ModalContent
      data-slot="sheet-content"
      className={cn("flex flex-col shadow-lg", SIDES[side], className)}
      {...props}
    />
  );
}

export const SheetHeader = box("div", "sheet-header", "flex flex-col gap-1.5 p-4");
export const SheetFooter = box("div", "sheet-footer", "mt-auto flex flex-col gap-2 p-4");
