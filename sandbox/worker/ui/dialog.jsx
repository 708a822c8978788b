import { CENTRED, ModalContent } from "./modal.jsx";
import { box } from "./parts.jsx";
import { cn } from "./utils.js";

export {
  ModalRoot as Dialog,
  ModalClose as DialogClose,
  ModalDescription as DialogDescription,
  ModalOverlay as DialogOverlay,
  ModalPortal as DialogPortal,
  ModalTitle as DialogTitle,
  ModalTrigger as DialogTrigger,
} from "./modal.jsx";

export function DialogContent({ className, showCloseButton = true, ...props }) {
  return (
    <ModalContent data-slot="dialog-content" className={cn(CENTRED, className)} closable={showCloseButton} {...props} />
  );
}

export const DialogHeader = box("div", "dialog-header", "flex flex-col gap-2 text-center sm:text-left");
export const DialogFooter = box("div", "dialog-footer", "flex flex-col-reverse gap-2 sm:flex-row sm:justify-end");
