#include <string>
#include <vector>

#include "cli/main.h"

int main(int argc, char** argv) {
  return reeve::cli::main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
