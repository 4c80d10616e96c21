class UserUpload < ApplicationRecord
end
