// Windowing of the message list: which turns are rendered, and a scroll position that holds while their heights change.
import type { LiveTurn } from "../model/live-session";
import { isFinished } from "../model/turn-reducer";

/** Turns up to this distance from the visible part are rendered, so that scrolling shows no gap. */
const MARGIN = "100% 0px";

/** What a person opened or writes in a turn is lost with its elements: it keeps the turn. */
const KEPT_STATE = ["textarea", "details[open]", "[aria-expanded=true]", "input:not([disabled])"].join();

interface Slot {
  live: LiveTurn;
  isLast: boolean;
  show: (shown: boolean) => void;
}

/** Observes the slots of one list: an element is either a turn or the placeholder of one. */
export class TurnWindow {
  private readonly slots = new Map<Element, Slot>();
  /** Rendered turns that are out of sight, but were kept. */
  private readonly kept = new Set<Element>();
  private readonly visibility: IntersectionObserver;
  private readonly sizes: ResizeObserver;
  private isPrinting = false;

  constructor(
    private readonly scroller: HTMLElement,
    /** Whether the list follows its end, which holds the position by itself. */
    private readonly atEnd: { current: boolean },
  ) {
    this.visibility = new IntersectionObserver((entries) => this.updateShown(entries), { root: scroller, rootMargin: MARGIN });
    this.sizes = new ResizeObserver((entries) => this.holdPosition(entries));
    document.addEventListener("selectionchange", this.showSelected);
    addEventListener("beforeprint", this.showForPrint);
    addEventListener("afterprint", this.endPrint);
  }

  observe(element: Element, slot: Slot): () => void {
    this.slots.set(element, slot);
    this.visibility.observe(element);
    this.sizes.observe(element);
    return () => {
      this.visibility.unobserve(element);
      this.sizes.unobserve(element);
      this.slots.delete(element);
      this.kept.delete(element);
    };
  }

  /** Scrolls to a turn that the browser's search found. */
  reveal(element: Element): void {
    this.atEnd.current = false;
    element.scrollIntoView({ block: "center" });
  }

  disconnect(): void {
    this.visibility.disconnect();
    this.sizes.disconnect();
    document.removeEventListener("selectionchange", this.showSelected);
    removeEventListener("beforeprint", this.showForPrint);
    removeEventListener("afterprint", this.endPrint);
  }

  private updateShown(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) {
        this.kept.delete(target);
        this.slots.get(target)?.show(true);
      } else this.kept.add(target);
    }
    this.releaseKept();
  }

  /** Replaces the rendered turns that are out of sight by placeholders, unless something keeps them. */
  private releaseKept(): void {
    if (this.isPrinting) return;
    for (const element of this.kept) {
      const slot = this.slots.get(element);
      if (slot !== undefined && (slot.isLast || !isFinished(slot.live.turn) || isInUse(element))) continue;
      this.kept.delete(element);
      slot?.show(false);
    }
  }

  /** Scrolls by what the turns above the visible part grew or shrank, before the browser paints. */
  private holdPosition(entries: ResizeObserverEntry[]): void {
    const top = this.scroller.getBoundingClientRect().top;
    const changed = entries.map(({ target }) => ({ target, box: target.getBoundingClientRect() })).sort((one, other) => one.box.top - other.box.top);
    let moved = 0;
    let scrolled = 0;
    for (const { target, box } of changed) {
      const live = this.slots.get(target)?.live;
      if (live === undefined) continue;
      const grown = live.height === 0 ? 0 : box.height - live.height;
      live.height = box.height;
      if (box.bottom - moved - grown <= top + 1) scrolled += grown;
      moved += grown;
    }
    if (scrolled !== 0 && !this.atEnd.current) this.scroller.scrollTop += scrolled;
  }

  /** Renders the turns between the ends of a selection, which would be missing in what is copied. */
  private readonly showSelected = (): void => {
    const selection = getSelection();
    if (selection === null || selection.isCollapsed || selection.rangeCount === 0) return this.releaseKept();
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(this.scroller)) return;
    for (const [element, slot] of this.slots) if (isPlaceholder(element) && range.intersectsNode(element)) slot.show(true);
  };

  private readonly showForPrint = (): void => {
    this.isPrinting = true;
    for (const slot of this.slots.values()) slot.show(true);
  };

  private readonly endPrint = (): void => {
    this.isPrinting = false;
    this.releaseKept();
  };
}

function isPlaceholder(element: Element): boolean {
  return element.hasAttribute("hidden");
}

function isInUse(element: Element): boolean {
  if (isPlaceholder(element)) return false;
  const selection = getSelection();
  const isSelected = selection !== null && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(element);
  return isSelected || element.contains(document.activeElement) || element.querySelector(KEPT_STATE) !== null;
}
