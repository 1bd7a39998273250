// What every page of the dashboard gets: copy and print buttons, the command palette, and parts that are looked at again.

import { enableCopying } from "./copy.js";
import { enableFollowing } from "./live.js";
import { enablePalette } from "./palette.js";
import { enablePreview } from "./preview.js";
import { enablePrinting } from "./print.js";
import { enableRefreshing } from "./refresh.js";

enableCopying();
enablePalette();
enableFollowing();
enablePreview();
enablePrinting();
enableRefreshing();
