// The poster of a payment link: its print button.

import { enablePrinting } from "./print.js";

enablePrinting();
