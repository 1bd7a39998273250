// A page whose only script is its print button: the poster of a payment link, and a receipt.

import { enablePrinting } from "./print.js";

enablePrinting();
