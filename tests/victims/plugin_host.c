// SPDX-License-Identifier: MIT

/**
 * Loads plugin.so by its bare name: it is found through this program's own RUNPATH,
 * $ORIGIN/plugins, and nowhere else. The plugin makes 10 blocks, and stays, is unloaded and loaded
 * again as often as the argument says.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--) {
		void *plugin = dlopen("plugin.so", RTLD_NOW);
		void (*work)(void) = plugin ? (void (*)(void))dlsym(plugin, "plugin_work") : NULL;
		if (!work) {
			puts(dlerror());
			return 1;
		}
		work();
		if (n > 1) {
			dlclose(plugin);
		}
	}
	puts("plugged");
	return 0;
}
