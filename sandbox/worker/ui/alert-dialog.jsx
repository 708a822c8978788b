import { buttonVariants } from "./button.jsx";
import { CENTRED, ModalClose, ModalContent } from "./modal.jsx";
import { box } from "./parts.jsx";
import { cn } from "./utils.js";

export {
  ModalRoot as AlertDialog,
  ModalDescription as AlertDialogDescription,
  ModalOverlay as AlertDialogOverlay,
  ModalPortal as AlertDialogPortal,
  ModalTitle as AlertDialogTitle,
  ModalTrigger as AlertDialogTrigger,
} from "./modal.jsx";

export function AlertDialogContent({ className, ...props }) {
  return <ModalContent role="alertdialog" forced closable={false} className={cn(CENTRED, className)} {...props} />;
}

export const AlertDialogHeader = box("div", "alert-dialog-header", "flex flex-col gap-2 text-center sm:text-left");
export const AlertDialogFooter = box(
  "div",
  "alert-dialog-footer",
  "flex flex-col-reverse gap-2 sm:flex-row sm:justify-end",
);

export function AlertDialogAction({ className, ...props }) {
  return <ModalClose className={cn(buttonVariants(), className)} {...props} />;
}

export function AlertDialogCancel({ className, ...props }) {
  return <ModalClose className={cn(buttonVariants({ variant: "outline" }), className)} {...props} />;
}
