#include <string>
#include <unistd.h>
#include <vector>

#include "adapter/main.h"

// The adapter between the keeper of a run and a real agent.
int main(int count, char** words) {
  return reeve::adapter::main(std::vector<std::string>(words + (count > 0 ? 1 : 0), words + count), environ);
}
